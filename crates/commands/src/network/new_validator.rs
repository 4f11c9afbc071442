//! `esker network new-validator`: key, configuration and journal of a validator that joins a running network.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use esker_node::Environment;
use esker_primitives::Randomness;
use esker_settings::config::ENGINE_FOLDER;
use esker_settings::networks;
use esker_validators::{ValidatorAddress, journal};
use serde_json::json;

use super::{
    CONFIG_FILE, DATA_FOLDER, KEY_FILE, NewNetworkError, absolute, failed, make_key, quoted,
    write_new,
};

/// The file with changes in the validator's folder.
const CHANGES_FILE: &str = "changes";

/// The parsed arguments of `esker network new-validator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewValidator {
    /// The network file of the running network.
    pub network: PathBuf,
    /// Its address for its peers.
    pub address: String,
    /// The folder to make.
    pub out: PathBuf,
    /// Its port for HTTP.
    pub http_port: u16,
}

/// Executes the command and returns its output.
///
/// # Errors
/// The network file or the address is none, or the folder exists or can't be written.
pub fn new_validator(command: &NewValidator) -> Result<String, NewNetworkError> {
    make(command, &Environment::system().randomness)
}

fn make(command: &NewValidator, randomness: &Randomness) -> Result<String, NewNetworkError> {
    let network = networks::load(&command.network.to_string_lossy())?;
    if network.validators.is_empty() {
        return Err(NewNetworkError::NoValidators(command.network.clone()));
    }
    let address: ValidatorAddress = command.address.parse().map_err(NewNetworkError::Address)?;
    let (file, out) = (absolute(&command.network)?, absolute(&command.out)?);
    fs::create_dir(&out).map_err(failed(&out))?;
    let public_key = make_key(&out, randomness)?;
    let config = out.join(CONFIG_FILE);
    let text = format!(
        "# A validator that joins a network, made by `esker network new-validator`.\nnetwork = {}\ndata-dir = {}\n\
         validator-key = {}\nvalidator-changes = {}\nhttp-port = {}\n",
        quoted(&file),
        quoted(&out.join(DATA_FOLDER)),
        quoted(&out.join(KEY_FILE)),
        quoted(&out.join(CHANGES_FILE)),
        command.http_port,
    );
    write_new(&config, 0o644, &text).map_err(failed(&config))?;
    let votes = out.join(DATA_FOLDER).join(ENGINE_FOLDER);
    journal::begin(&votes, &public_key).map_err(failed(&votes))?;
    let member = json!({"publicKey": public_key.to_string(), "address": address.to_string()});
    let mut output = format!("{member}\n");
    // A String takes every line.
    let _written = writeln!(
        output,
        "add this to esker.validators of a copy of {}, which the operators approve with `esker network rotate`;\nwhen it is \
         agreed: esker network rotate ... --out {}\nand start it: esker node --config {}",
        file.display(),
        out.join(CHANGES_FILE).display(),
        config.display()
    );
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use esker_validators::ValidatorKey;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_new_validator_has_a_key_a_configuration_and_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let randomness: Randomness = Arc::new(|bytes: &mut [u8]| bytes.fill(7));
        let command = |network: &Path, address: &str| NewValidator {
            network: network.to_owned(),
            address: address.to_owned(),
            out: folder.path().join("fifth"),
            http_port: 9_800,
        };
        let local = command(Path::new("local"), "127.0.0.1:9801");
        let error = make(&local, &randomness).unwrap_err().to_string();
        assert_eq!(error, "--network local: it has no validators");
        let key = ValidatorKey::from_bytes(&[1; 32]).public_key();
        let content = super::super::new::network(
            &[json!({
                "publicKey": key.to_string(), "address": "127.0.0.1:9700",
            })],
            &[],
        );
        let file = folder.path().join("network.json");
        fs::write(&file, content.to_string()).unwrap();
        let error = make(&command(&file, "nowhere"), &randomness).unwrap_err().to_string();
        assert!(error.starts_with("--address: `nowhere` is no address"), "{error}");
        let output = make(&command(&file, "127.0.0.1:9801"), &randomness).unwrap();
        let member: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
        let own = ValidatorKey::from_bytes(&[7; 32]).public_key().to_string();
        assert_eq!(member, json!({"publicKey": own, "address": "127.0.0.1:9801"}));
        let out = folder.path().join("fifth");
        let config = fs::read_to_string(out.join(CONFIG_FILE)).unwrap();
        assert!(config.contains("/fifth/changes\"\nhttp-port = 9800\n"), "{config}");
        assert!(out.join("data").join(ENGINE_FOLDER).join("validator").exists());
        let again = make(&command(&file, "127.0.0.1:9801"), &randomness).unwrap_err();
        assert!(matches!(again, NewNetworkError::Write { .. }), "{again}");
    }
}
