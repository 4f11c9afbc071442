//! Reads the password of a command.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use esker_keystore::Password;
use esker_primitives::check_secret;
use zeroize::Zeroizing;

use super::{Login, UserError};

/// Most bytes of a password file: enough for 1,024 characters.
const MAX_FILE_BYTES: u64 = 8 * 1024;

/// The password of an existing user.
pub(super) fn read_password(login: &Login) -> Result<Password, UserError> {
    match &login.password_file {
        Some(path) => read_password_file(path),
        None => prompt_password(&format!("Password of user {:?}: ", login.name)),
    }
}

/// The password of a new user; on the terminal it is entered twice.
pub(super) fn choose_password(login: &Login) -> Result<Password, UserError> {
    let password = read_password(login)?;
    if login.password_file.is_none()
        && prompt_password("The same again: ")?.text() != password.text()
    {
        return Err(UserError::Password("the two passwords differ".to_owned()));
    }
    Ok(password)
}

fn prompt_password(prompt: &str) -> Result<Password, UserError> {
    rpassword::prompt_password(prompt).map(Password::from).map_err(|error| {
        UserError::Password(format!("can't read the password ({error}): use --password-file"))
    })
}

fn read_password_file(path: &Path) -> Result<Password, UserError> {
    let fault = |error| UserError::File { path: path.to_owned(), error };
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES as usize + 1));
    // Also a pipe, such as that of a command that decrypts the password.
    let file = File::open(path).map_err(fault)?;
    check_secret(&file).map_err(|error| UserError::Exposed { path: path.to_owned(), error })?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fault)?;
    let unusable = |why| UserError::Password(format!("{}: {why}", path.display()));
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(unusable("too long for a password"));
    }
    let text = str::from_utf8(&bytes).map_err(|_| unusable("a password is UTF-8 text"))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(Password::from(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(path: &Path, content: &[u8], mode: u32) {
        std::fs::write(path, content).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_for_everyone_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        for (mode, is_read) in [(0o600, true), (0o640, true), (0o644, false), (0o666, false)] {
            write(&path, b"abc", mode);
            match read_password_file(&path) {
                Ok(password) => assert!(is_read && password.text() == "abc", "{mode:o}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!is_read && text.contains("give it mode 0600"), "{mode:o}: {text}");
                    assert_eq!(error.exit_code(), 2);
                }
            }
        }
    }

    #[test]
    fn a_line_break_at_the_end_is_no_part_of_the_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        for (content, password) in
            [("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("a b\n\n", "a b\n"), ("", "")]
        {
            write(&path, content.as_bytes(), 0o600);
            assert_eq!(read_password_file(&path).unwrap().text(), password, "{content:?}");
        }
        for content in [&b"\xff\xfe"[..], &[b'x'; 9000]] {
            write(&path, content, 0o600);
            let refused = read_password_file(&path).unwrap_err().to_string();
            assert!(!refused.contains("xxx"), "{refused}");
        }
        assert!(read_password_file(&dir.path().join("nowhere")).is_err());
    }
}
