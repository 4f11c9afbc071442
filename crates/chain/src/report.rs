//! The content of accepted blocks, for a person's screen.

/// An accepted block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockReport {
    /// The block's hash, as clients of the chain see it.
    pub hash: String,
    /// Its transactions of any kind, in order.
    pub txs: Vec<TxReport>,
}

/// An accepted transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxReport {
    /// Its ID or hash, as clients see it.
    pub id: String,
    /// The effect of the transaction, if the chain has several kinds: `export`.
    pub kind: Option<&'static str>,
    /// Address of the contract that it was to create.
    pub contract: Option<String>,
    /// Gas that it used, if it pays by gas.
    pub gas_used: Option<u64>,
    /// The reason why its code failed. The text may contain what the code says: any characters.
    pub failure: Option<String>,
    /// The texts that its code printed.
    pub printed: PrintedTexts,
    /// The names of what it did.
    pub names: TxNames,
    /// The message that it carried, if its chain runs code.
    pub run: Option<RunReport>,
    /// Most gas that it could use, if it pays by gas.
    pub gas_limit: Option<u64>,
    /// Its calls and events, one a line, if the chain shows them. Texts of bounded length without control characters.
    pub calls: Vec<String>,
}

/// Names of what a transaction did, where they are known. Texts of one line and bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxNames {
    /// The contract that it created.
    pub contract: Option<String>,
    /// The function that it called, or the constructor of its contract, with the arguments.
    pub call: Option<String>,
    /// The events that it emitted, with their arguments.
    pub events: PrintedTexts,
}

/// Texts that code prints for its developer. They may have any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedTexts {
    /// The first texts, in order.
    pub texts: Vec<String>,
    /// The number of further texts.
    pub left_out: u64,
}

/// The message of a transaction or of an unsigned call, and how it ended. Texts are of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// The sender.
    pub from: String,
    /// The recipient; `None`: it creates a contract.
    pub to: Option<String>,
    /// Value, wei, in decimal digits.
    pub value: String,
    /// What ran.
    pub target: RunTarget,
    /// Why the code failed.
    pub failure: Option<RunFailure>,
    /// The texts that the code printed.
    pub printed: PrintedTexts,
}

/// What the message of a transaction or a call reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunTarget {
    /// An account without code.
    #[default]
    Account,
    /// A contract of the protocol, which has this number as its address.
    Precompile(u64),
    /// A contract, with its name if it is known.
    Contract {
        /// Name of the contract.
        name: Option<String>,
        /// Name of the function; `None`: the contract is not known to have it.
        function: Option<String>,
    },
    /// A new contract, with its name if it is known.
    Creation {
        /// Name of the contract.
        name: Option<String>,
        /// Its address.
        address: String,
    },
}

/// Why code failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// Whether the code itself ended its run, with a reason or without.
    pub is_revert: bool,
    /// The reason. It may have any characters.
    pub text: String,
}
