//! Executes the commands.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use esker_keystore::{HashLimits, Keystore, blob};
use esker_node::Environment;
use esker_primitives::ClientAddress;
use esker_primitives::{go, hexfmt, read_input};
use esker_settings::config::Config;
use esker_storage::{Store, meta};
use zeroize::Zeroizing;

use super::{UserCommand, UserError, password};
use crate::offline::existing_folder;

/// Most bytes of an exported user: enough for several hundred chains with the maximum number of keys.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Executes the command and returns its output.
///
/// # Errors
/// The command failed; nothing has changed.
pub fn run(command: &UserCommand, config: &Config) -> Result<String, UserError> {
    let store = open(config)?;
    let Environment { clock, randomness, .. } = Environment::system();
    let keystore = Keystore::new(store.clone(), randomness, clock, HashLimits::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(UserError::Runtime)?;
    let done = runtime.block_on(execute(command, &keystore));
    store.writer.close_blocking()?;
    done
}

/// The store of a stopped node.
fn open(config: &Config) -> Result<Store, UserError> {
    let path = existing_folder(config)?;
    let map_size = config.settings.store_map_size.0;
    // These writes are small, and deleting a user may free space.
    let options = meta::OpenOptions { map_size, durable: true, disk_reserve: 0 };
    Ok(Store::new(Arc::new(meta::open_dir(path, &options)?))?)
}

async fn execute(command: &UserCommand, keystore: &Arc<Keystore>) -> Result<String, UserError> {
    let caller = ClientAddress::IN_PROCESS;
    match command {
        UserCommand::Create(login) => {
            keystore.create_user(&login.name, &password::choose_password(login)?, caller).await?;
            Ok(format!("user {} created\n", printable(&login.name)))
        }
        UserCommand::List => {
            Ok(keystore.list_users()?.iter().map(|name| printable(name) + "\n").collect())
        }
        UserCommand::Export(login, file) => {
            let exported =
                keystore.export_user(&login.name, &password::read_password(login)?, caller).await?;
            write(file, &hexfmt::encode_checked(&exported))?;
            Ok(format!("user {} exported to {}\n", printable(&login.name), file.display()))
        }
        UserCommand::Import(login, file) => {
            let exported = read(file)?;
            keystore
                .import_user(&login.name, &password::read_password(login)?, &exported, caller)
                .await?;
            Ok(format!("user {} imported\n", printable(&login.name)))
        }
        UserCommand::Delete(login) => {
            keystore.delete_user(&login.name, &password::read_password(login)?, caller).await?;
            Ok(format!("user {} deleted\n", printable(&login.name)))
        }
    }
}

/// The name, quoted if it has unprintable characters.
fn printable(name: &str) -> String {
    match name.chars().all(go::is_print) {
        true => name.to_owned(),
        false => go::quote_whole(name),
    }
}

/// Writes a new file that only its owner can read.
fn write(path: &Path, text: &str) -> Result<(), UserError> {
    let fault = |error| UserError::File { path: path.to_owned(), error };
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(fault)?;
    writeln!(file, "{text}").and_then(|()| file.sync_all()).map_err(fault)
}

fn read(path: &Path) -> Result<Vec<u8>, UserError> {
    let not_a_user = |reason: String| UserError::NotAUser { path: path.to_owned(), reason };
    let bytes = read_input(path, MAX_FILE_BYTES).map_err(|error| not_a_user(error.to_string()))?;
    let bytes = Zeroizing::new(bytes);
    let text = str::from_utf8(&bytes).map_err(|_| not_a_user("not the text of a user".into()))?;
    let decoded = hexfmt::decode_checked(text.trim_ascii());
    let decoded = decoded.map_err(|error| not_a_user(error.to_string()))?;
    // Checked before the password prompt.
    let parsed = blob::ExportedUser::parse(&decoded);
    parsed.map_err(|error| not_a_user(error.to_string()))?;
    Ok(decoded)
}
