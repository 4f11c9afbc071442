//! Documents, their signatures, and the agreement, without a network.

use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::Id;
use esker_validators::{
    ApprovalError, ChangeError, MemoryChangeLog, SetChange, Signatures, SignedChange,
    ValidatorAddress, ValidatorKey, ValidatorPublicKey,
};

use super::agreement::Votes;
use super::message::{MAX_MESSAGE, Message};
use super::signing::{self, Statement};
use super::{ChangeHistory, ChangeState};
use crate::block::digest_of;

const NETWORK: u32 = 12345;

fn key(n: u8) -> ValidatorKey {
    ValidatorKey::from_bytes(&[n; 32])
}

fn members(keys: &[u8]) -> Vec<(ValidatorPublicKey, ValidatorAddress)> {
    let address = |n: &u8| format!("127.0.0.1:{}", 9_000 + u16::from(*n)).parse().unwrap();
    keys.iter().map(|n| (key(*n).public_key(), address(n))).collect()
}

fn history(keys: &[u8]) -> ChangeHistory {
    ChangeHistory::new(NETWORK, Id::ZERO, members(keys)).unwrap()
}

fn change(epoch: u64, first_height: u64, keys: &[u8]) -> SetChange {
    SetChange::new(epoch, first_height, members(keys)).unwrap()
}

fn signed(history: &ChangeHistory, change: &SetChange, signers: &[u8]) -> SignedChange {
    let sign = |n: &u8| {
        let signature = signing::sign(change, &history.domain, Statement::Promise, &key(*n));
        (key(*n).public_key(), signature)
    };
    SignedChange { change: change.clone(), promises: signers.iter().map(sign).collect() }
}

#[test]
fn changes_are_read_as_they_were_written_and_in_no_other_form() {
    let five = change(1, 500, &[1, 2, 3, 4, 5]);
    let bytes = five.to_bytes();
    assert_eq!(SetChange::from_bytes(&bytes).unwrap(), five);
    assert_eq!(hex::encode(&bytes[..19]), "00000000000000000100000000000001f40005");
    let whole = signed(&history(&[1, 2, 3, 4]), &five, &[1, 2, 3]).to_bytes();
    assert_eq!(SignedChange::from_bytes(&whole).unwrap().to_bytes(), whole);
    for len in 0..whole.len() {
        assert!(SignedChange::from_bytes(&whole[..len]).is_err(), "{len} bytes");
    }
    for (at, value) in [(0, 1), (18, 4), (18, 6)] {
        let mut wrong = bytes.clone();
        wrong[at] = value;
        assert!(SetChange::from_bytes(&wrong).is_err(), "byte {at}");
    }
    // The first two validators in the wrong order.
    let mut swapped = bytes.clone();
    let (first, second) = (19..19 + 48, 19 + 48..19 + 96);
    swapped[first.clone()].copy_from_slice(&bytes[second.clone()]);
    swapped[second].copy_from_slice(&bytes[first]);
    let error = SetChange::from_bytes(&swapped).unwrap_err();
    assert_eq!(error.to_string(), "not a change of the validators: not in the canonical form");
}

#[test]
fn sets_are_bounded_and_have_each_key_and_address_once() {
    assert_eq!(SetChange::new(1, 9, Vec::new()), Err(ChangeError::Size(0)));
    let many: Vec<u8> = (1..=101).collect();
    assert_eq!(SetChange::new(1, 9, members(&many)), Err(ChangeError::Size(101)));
    let twice = SetChange::new(1, 9, members(&[1, 2, 1])).unwrap_err();
    assert_eq!(twice, ChangeError::KeyTwice(key(1).public_key()));
    let mut same = members(&[1, 2]);
    same[1].1 = same[0].1.clone();
    assert_eq!(
        SetChange::new(1, 9, same.clone()),
        Err(ChangeError::AddressTwice(same[0].1.clone()))
    );
}

#[test]
fn a_history_takes_what_a_quorum_of_the_validators_before_signed() {
    let mut history = history(&[1, 2, 3, 4]);
    let first = change(1, 100, &[1, 2, 3, 4, 5]);
    let mut append = |signed: &SignedChange| history.append(&signed.to_bytes());
    let of = |signers: &[u8]| signed(&self::history(&[1, 2, 3, 4]), &first, signers);

    let error = append(&of(&[1, 2])).unwrap_err();
    assert_eq!(error, ChangeError::TooFew { found: 2, needed: 3 });
    let error = append(&of(&[1, 2, 5])).unwrap_err();
    assert_eq!(error, ChangeError::Stranger(key(5).public_key()));
    let mut forged = of(&[1, 2, 3]);
    forged.promises.get_mut(&key(2).public_key()).unwrap()[7] ^= 1;
    assert_eq!(append(&forged).unwrap_err(), ChangeError::Signature(key(2).public_key()));
    // An approval is no promise.
    let domain = self::history(&[1]).domain;
    let mut approved = of(&[1, 2]);
    let approval = signing::sign(&first, &domain, Statement::Approval, &key(3));
    approved.promises.insert(key(3).public_key(), approval);
    assert_eq!(append(&approved).unwrap_err(), ChangeError::Signature(key(3).public_key()));
    // A signature of another network.
    let other = ChangeHistory::new(NETWORK + 1, Id::ZERO, members(&[1, 2, 3, 4])).unwrap();
    assert!(matches!(append(&signed(&other, &first, &[1, 2, 3])), Err(ChangeError::Signature(_))));

    assert_eq!(append(&of(&[1, 2, 3])), Ok(true));
    assert_eq!(append(&of(&[2, 3, 4])), Ok(false), "the same change by others");
    assert_eq!(append(&of(&[9])), Ok(false), "its signatures are not looked at again");
    // The next one is signed by the new validators: four of five.
    let second = change(2, 200, &[1, 2, 3, 5]);
    let error = append(&signed(&domain_of(), &second, &[1, 2, 3])).unwrap_err();
    assert_eq!(error, ChangeError::TooFew { found: 3, needed: 4 });
    let early = change(2, 101, &[1, 2, 3, 5]);
    let error = append(&signed(&domain_of(), &early, &[1, 2, 3, 4])).unwrap_err();
    assert_eq!(error, ChangeError::Height { found: 101, epoch: 1, least: 102 });
    let late = change(3, 300, &[1, 2]);
    let error = append(&signed(&domain_of(), &late, &[1, 2, 3, 4])).unwrap_err();
    assert_eq!(error, ChangeError::Epoch { expected: 2, found: 3 });
    assert_eq!(append(&signed(&domain_of(), &second, &[1, 2, 3, 5])), Ok(true));

    assert_eq!(
        [0, 99, 100, 199, 200, 999].map(|height| history.epoch_of(height)),
        [0, 0, 1, 1, 2, 2]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|epoch| history.last(epoch)),
        [Some(99), Some(199), Some(u64::MAX), None]
    );
    let sizes: Vec<_> = history
        .committees()
        .iter()
        .map(|(first, epoch, keys)| (*first, *epoch, keys.len()))
        .collect();
    assert_eq!(sizes, [(0, 0, 4), (100, 1, 5), (200, 2, 4)]);
    let mut again = self::history(&[1, 2, 3, 4]);
    for document in history.documents() {
        again.append(document).unwrap();
    }
    assert_eq!(again.committees(), history.committees());
}

fn domain_of() -> ChangeHistory {
    history(&[1])
}

#[test]
fn messages_are_read_as_they_were_written_and_garbage_is_refused() {
    let history = history(&[1, 2, 3, 4]);
    let five = change(1, 500, &[1, 2, 3, 4, 5]);
    let promises = signed(&history, &five, &[1, 2]).promises;
    let votes = Votes { change: five.clone(), approvals: Signatures::new(), promises };
    let document = Bytes::from(signed(&history, &five, &[1, 2, 3]).to_bytes());
    for message in [
        Message::State { epoch: 3, known: 4, votes: Some(votes) },
        Message::State { epoch: 0, known: 0, votes: None },
        Message::Changes(vec![document.clone(), document]),
    ] {
        let bytes = message.encode();
        assert_eq!(Message::decode(&bytes).unwrap().encode(), bytes);
        for len in 0..bytes.len() {
            assert!(Message::decode(&bytes[..len]).is_err(), "{len} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Message::decode(&longer).is_err());
    }
    for garbage in [vec![9], vec![2, 7], vec![2, 1, 255, 255, 255, 255], vec![0; MAX_MESSAGE + 1]] {
        assert!(Message::decode(&garbage).is_err());
    }
    let many: Vec<u8> = (1..=100).collect();
    let signature = |n: &u8| (key(*n).public_key(), [7; 64]);
    let largest = SetChange::new(1, 9, {
        let name = |n: u16| format!("{}.{:049}:9000", vec!["a".repeat(63); 3].join("."), n);
        (1..=100).map(|n| (key(n as u8).public_key(), name(n).parse().unwrap())).collect()
    })
    .unwrap();
    let promises: Signatures = many.iter().map(signature).collect();
    let signed = SignedChange { change: largest.clone(), promises: promises.clone() }.to_bytes();
    let votes = Votes { change: largest, approvals: promises.clone(), promises };
    assert!(Message::State { epoch: 0, known: 0, votes: Some(votes) }.encode().len() < MAX_MESSAGE);
    let most = vec![Bytes::from(signed); super::message::MAX_CHANGES];
    let most = Message::Changes(most).encode();
    assert!(Message::decode(&most).is_ok(), "{} bytes", most.len());
}

async fn state(n: u8, folder: &std::path::Path) -> ChangeState {
    let folder = folder.join(n.to_string());
    let log = Arc::new(MemoryChangeLog::default());
    let history = history(&[1, 2, 3, 4]);
    let state = ChangeState::open(key(n), Some(folder), log, history, &[]).await.unwrap();
    let _epoch = state.begin(0);
    state.set_votes(true);
    state.set_replayed();
    state
}

/// The approvals of these validators.
fn approvals(change: &SetChange, keys: &[u8]) -> Votes {
    let domain = history(&[1]).domain;
    let approve = |n: &u8| {
        (key(*n).public_key(), signing::sign(change, &domain, Statement::Approval, &key(*n)))
    };
    let approvals = keys.iter().map(approve).collect();
    Votes { change: change.clone(), approvals, promises: Signatures::new() }
}

/// Passes on what each state knows to the others.
fn exchange(states: &[&ChangeState]) {
    for from in states {
        for to in states {
            if let (_, _, Some(votes)) = from.to_send() {
                to.receive(votes).unwrap();
            }
        }
    }
}

fn promises(state: &ChangeState) -> usize {
    state.status().proposals.iter().map(|proposal| proposal.promises.len()).sum()
}

#[tokio::test]
async fn a_quorum_of_approvals_leads_to_promises_and_these_to_the_change() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, c, d] = [
        state(1, folder.path()).await,
        state(2, folder.path()).await,
        state(3, folder.path()).await,
        state(4, folder.path()).await,
    ];
    let all = [&a, &b, &c, &d];
    let five = change(1, 100, &[1, 2, 3, 4, 5]);
    let advance = |states: &[&ChangeState], last| {
        let all = states.iter().map(|state| state.advance(last).unwrap());
        all.flatten().collect::<Vec<_>>()
    };
    // Two operators: nothing is promised, and no height is closed.
    a.approve(five.clone(), 10).unwrap();
    b.approve(five.clone(), 10).unwrap();
    for _ in 0..3 {
        assert_eq!(advance(&all, 10), []);
        exchange(&all);
    }
    assert_eq!([&a, &b, &c].map(promises), [0; 3]);
    assert!(a.certify(1, 100) && a.limit(0).is_none(), "a minority binds nobody");
    a.finalized(1);
    // A third one approves another height first, then the same.
    c.approve(change(1, 120, &[1, 2, 3, 4, 5]), 10).unwrap();
    advance(&all, 10);
    exchange(&all);
    assert_eq!(d.status().proposals.len(), 2);
    c.approve(five.clone(), 11).unwrap();
    c.approve(five.clone(), 99).unwrap();
    assert_eq!(advance(&[&c], 11), []);
    exchange(&all);
    advance(&all, 11);
    assert_eq!([&a, &b, &c, &d].map(promises), [2, 2, 1, 1], "its own and the third's");
    assert!(
        !a.certify(2, 100) && a.certify(2, 99),
        "the promise binds before its signature leaves"
    );
    assert!(d.certify(2, 100), "the fourth did not promise");
    let other = change(1, 110, &[1, 2, 3]);
    let error = a.approve(other.clone(), 11).unwrap_err();
    assert_eq!(error, ApprovalError::Promised { height: 100, id: five.id() });
    // The promise is on the disk.
    drop(a);
    let a = state(1, folder.path()).await;
    assert!(!a.certify(3, 100));
    let all = [&a, &b, &c, &d];
    for _ in 0..2 {
        advance(&all, 12);
        exchange(&all);
    }
    let agreed = advance(&all, 12);
    assert_eq!(agreed.len(), 4, "each has three promises: {agreed:?}");
    for (state, signed) in all.iter().zip(&agreed) {
        assert!(state.append(&signed.to_bytes()).await.unwrap());
    }
    assert!(!d.certify(4, 100), "the change is agreed");
    assert_eq!(d.approve(other, 20).unwrap_err(), ApprovalError::Agreed(100));
    assert_eq!([d.begin(98), d.begin(99)], [0, 1]);
}

#[tokio::test]
async fn an_approval_needs_a_height_ahead_and_a_validator_that_votes() {
    let folder = tempfile::tempdir().unwrap();
    let node = state(1, folder.path()).await;
    let five = |height| change(1, height, &[1, 2, 3, 4, 5]);
    let error = node.approve(five(131), 100).unwrap_err();
    assert_eq!(error, ApprovalError::Height { found: 131, least: 132, most: 1_000_100, tip: 100 });
    assert!(node.approve(five(1_000_101), 100).is_err());
    assert_eq!(
        node.approve(change(1, 200, &[4, 3, 2, 1]), 100).unwrap_err(),
        ApprovalError::SameSet
    );
    let error = node.approve(change(2, 200, &[1, 2]), 100).unwrap_err();
    assert_eq!(error, ChangeError::Epoch { expected: 1, found: 2 }.into());
    node.set_votes(false);
    assert_eq!(node.approve(five(200), 100).unwrap_err(), ApprovalError::NoVotes);
    let stranger = state(9, folder.path()).await;
    assert_eq!(stranger.approve(five(200), 100).unwrap_err(), ApprovalError::NotValidator);
}

#[tokio::test]
async fn a_promise_whose_height_passed_without_it_binds_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [state(1, folder.path()).await, state(2, folder.path()).await];
    let five = change(1, 100, &[1, 2, 3, 4, 5]);
    let votes = approvals(&five, &[1, 2, 3]);
    for node in [&a, &b] {
        node.approve(five.clone(), 0).unwrap();
        node.receive(votes.clone()).unwrap();
    }
    // One that may have made a bundle at the height final promises nothing, nor one that is too near.
    assert!(b.certify(5, 100));
    b.advance(50).unwrap();
    assert_eq!(promises(&b), 0);
    b.finalized(5);
    b.advance(92).unwrap();
    assert_eq!((promises(&b), b.status().proposals.iter().any(|p| p.is_own)), (0, false));
    a.advance(50).unwrap();
    assert_eq!(promises(&a), 1);
    assert!(!a.certify(6, 100));
    // The others decided height 100 without it.
    a.advance(100).unwrap();
    assert!(a.certify(7, 101));
    a.approve(change(1, 300, &[1, 2, 3]), 101).unwrap();

    // A false signature is the peer's fault.
    let mut forged = votes;
    forged.change = change(1, 400, &[1, 2, 3, 4, 5]);
    let error = b.receive(forged).unwrap_err().to_string();
    assert!(error.starts_with("the signature of"), "{error}");
}

#[tokio::test]
async fn nothing_is_promised_before_the_votes_of_the_journal_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let node = state(1, folder.path()).await;
    let five = change(1, 100, &[1, 2, 3, 4, 5]);
    node.approve(five.clone(), 0).unwrap();
    node.receive(approvals(&five, &[1, 2, 3])).unwrap();
    // The engine starts again within the process: the approvals are known, the votes are not.
    let _epoch = node.begin(0);
    node.set_votes(true);
    node.advance(50).unwrap();
    assert_eq!(promises(&node), 0);
    assert!(node.limit(0).is_none());
    // The journal says that this node may have made a bundle of the height final.
    node.replayed_certification(5, digest_of(&Id::sha256(b"bundle")));
    node.advance(50).unwrap();
    assert_eq!(promises(&node), 0);
    node.set_replayed();
    node.advance(50).unwrap();
    assert_eq!(promises(&node), 0);
    node.resolve(5, 100);
    node.advance(50).unwrap();
    assert_eq!(promises(&node), 0);
    node.finalized(5);
    node.advance(50).unwrap();
    assert_eq!(promises(&node), 1);
}

#[tokio::test]
async fn an_approval_that_can_not_be_stored_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let node = state(1, folder.path()).await;
    let five = change(1, 100, &[1, 2, 3, 4, 5]);
    let in_the_way = folder.path().join("1").join("change.new");
    std::fs::create_dir_all(&in_the_way).unwrap();
    let error = node.approve(five.clone(), 0).unwrap_err();
    assert!(matches!(error, ApprovalError::Storage(_)), "{error}");
    assert!(node.advance(1).is_err(), "what is on the disk is unknown");
    assert_eq!(node.status().proposals, []);
    std::fs::remove_dir(&in_the_way).unwrap();
    node.advance(1).unwrap();
    assert_eq!(node.status().proposals, []);
    node.approve(five.clone(), 1).unwrap();
    // An approval that can't be replaced stays.
    std::fs::create_dir(&in_the_way).unwrap();
    node.approve(change(1, 120, &[1, 2, 3]), 1).unwrap_err();
    std::fs::remove_dir(&in_the_way).unwrap();
    node.advance(1).unwrap();
    drop(node);
    let node = state(1, folder.path()).await;
    node.advance(1).unwrap();
    let [proposal] = &node.status().proposals[..] else { panic!("{:?}", node.status()) };
    assert!(proposal.is_own && proposal.change == five);
}
