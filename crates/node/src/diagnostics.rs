//! The parts that the admin and debug methods watch and change beside chains: loggers, and the folders of profiles.

use std::path::{Path, PathBuf};

use esker_profiling::Folder;
use esker_settings::config::{ChainSettings, Config};

use crate::logging::LogLevels;

/// Folder of profiles below the data folder.
const PROFILES: &str = "profiles";

/// The loggers and the folder of the node's profiles.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// Levels of the loggers.
    pub levels: LogLevels,
    profiles: PathBuf,
}

impl Diagnostics {
    /// The parts of a node with this data folder.
    pub fn new(config: &Config, data_dir: &Path, levels: LogLevels) -> Self {
        let given = config.settings.profile_dir.clone();
        Self { levels, profiles: given.unwrap_or_else(|| data_dir.join(PROFILES)) }
    }

    /// The folder of the node's profiles.
    pub fn folder(&self) -> Folder {
        Folder::new(self.profiles.clone())
    }

    /// The folder of a chain's profiles (docs/decisions.md, "Profiles").
    pub fn chain_folder(&self, settings: &ChainSettings, alias: &str) -> Folder {
        let path = match settings.admin_api_dir.as_str() {
            "" => self.profiles.join(alias),
            // The reference's name: the setting is the first part of it.
            given => PathBuf::from(format!("{given}_coreth_performance_{alias}")),
        };
        Folder::new(path).with_files_anywhere(settings.debug_files_anywhere)
    }
}
