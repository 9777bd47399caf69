//! Writes the folder of a local run: what `host.sh` and `pod.sh` need to start the pods. The main type is [`RunFolder`].

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::pods::{Container, Job, Pod, Volume};
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, environment, mode, output, seed};

const HOST: &str = include_str!("host.sh");
const POD: &str = include_str!("pod.sh");

/// The folder that host.sh and pod.sh read.
pub struct RunFolder<'a> {
    pub path: &'a Path,
    pub job: &'a Job,
    /// Whether there are more ranks than processors.
    pub is_busy: bool,
    pub screen: &'a Screen,
}

impl RunFolder<'_> {
    pub fn write(&self) -> Outcome {
        let launcher = &self.job.pods[self.job.launcher];
        save(&self.path.join("host.sh"), HOST.as_bytes())?;
        save(&self.path.join("pod.sh"), POD.as_bytes())?;
        save(&self.path.join("launcher"), format!("{}\n", launcher.name).as_bytes())?;
        if self.job.keeps_workers {
            save(&self.path.join("stays"), b"")?;
        }
        let mut hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for pod in &self.job.pods {
            let _ = writeln!(hosts, "{} {}", pod.address, pod.names.join(" "));
        }
        save(&self.path.join("hosts"), hosts.as_bytes())?;
        let mut kept_folders = BTreeMap::new();
        for pod in &self.job.pods {
            self.pod(pod, &mut kept_folders)?;
        }
        for (path, folder) in kept_folders {
            self.screen.notice(&format!("{path} is the folder {folder}, which stays"));
        }
        Ok(())
    }

    fn pod(&self, pod: &Pod, kept_folders: &mut BTreeMap<String, String>) -> Outcome {
        let here = self.path.join("pods").join(&pod.name);
        make(&here.join("root"))?;
        save(&here.join("hostname"), pod.name.as_bytes())?;
        save(&here.join("ids"), format!("{} {}\n", pod.ids.0, pod.ids.1).as_bytes())?;
        let mut sources = BTreeMap::new();
        for (name, volume) in &pod.volumes {
            let source = match volume {
                Volume::Folder(path) => path.clone(),
                Volume::Kept(folder) => kept(name, folder)?,
                _ => here.join("volumes").join(name),
            };
            if !matches!(volume, Volume::Folder(_)) {
                make(&source)?;
            }
            if let Volume::Files(files) = volume {
                for (file, text) in files {
                    let path = source.join(file);
                    make(&output::parent(&path))?;
                    save(&path, text.as_bytes())?;
                    executable(&path)?;
                }
            }
            sources.insert(name.as_str(), source);
        }
        for (number, container) in pod.containers.iter().enumerate() {
            self.container(container, &here.join(format!("containers/{number}")), &sources)?;
            for mount in &container.mounts {
                if let Some(Volume::Kept(_)) = pod.volumes.get(&mount.volume) {
                    kept_folders.insert(mount.path.clone(), sources[mount.volume.as_str()].display().to_string());
                }
            }
        }
        Ok(())
    }

    fn container(&self, container: &Container, here: &Path, sources: &BTreeMap<&str, PathBuf>) -> Outcome {
        make(here)?;
        let mut mounts =
            vec![[self.path.join("hosts").display().to_string(), "/etc/hosts".to_owned(), "ro".to_owned()]];
        for mount in &container.mounts {
            let Some(source) = sources.get(mount.volume.as_str()) else { continue };
            let source = mount.sub_path.as_ref().map_or_else(|| source.clone(), |path| source.join(path));
            let mode = if mount.is_read_only { "ro" } else { "rw" };
            mounts.push([source.display().to_string(), mount.path.clone(), mode.to_owned()]);
        }
        // The user's current folder takes the place of the image's working directory. If it is below /tmp, it must be
        // mounted, because each pod has a /tmp of its own.
        let current = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let folder = container.folder.clone().unwrap_or_else(|| current.display().to_string());
        if container.folder.is_none() && current.starts_with("/tmp") && current != Path::new("/tmp") {
            mounts.push([folder.clone(), folder.clone(), "rw".to_owned()]);
        }
        let mut variables = passed_on();
        if self.is_busy {
            // Ranks that wait for other ranks must not keep a processor busy.
            variables.insert("OMPI_MCA_mpi_yield_when_idle".to_owned(), "1".to_owned());
        }
        // A machine that has only the loopback interface has no route. The scripts would then choose IPv6, but the pods have
        // IPv4 addresses.
        variables.insert("OMPI_MCA_btl_tcp_disable_family".to_owned(), "6".to_owned());
        variables.extend(container.environment.clone());
        let variables = variables.iter().map(|(name, value)| format!("{name}={value}"));
        save(&here.join("mounts"), &joined(mounts.into_iter().flatten()))?;
        save(&here.join("environment"), &joined(variables))?;
        save(&here.join("command"), &joined(container.command.iter().cloned()))?;
        save(&here.join("folder"), folder.as_bytes())
    }
}

/// The folder of a volume whose content is kept after the run.
pub fn kept(volume: &str, folder: &str) -> Result<PathBuf, Failure> {
    seed::state(&format!("local/{folder}")).ok_or_else(|| {
        Failure::File(format!("there is no folder for the volume {volume}: set HOME, or use --volume {volume}=FOLDER"))
    })
}

/// The user's variables that locate programs and libraries. In a cluster, the variables of the image do this.
fn passed_on() -> BTreeMap<String, String> {
    let passed = environment::LOCAL.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?)));
    let mut all: BTreeMap<String, String> = passed.collect();
    all.insert("HOME".to_owned(), "/tmp".to_owned());
    // Python looks for the user's packages in the home folder, and pods have a different home folder.
    if let Some(home) = env::var_os(environment::HOME) {
        let packages = Path::new(&home).join(".local");
        if packages.is_dir() {
            all.entry("PYTHONUSERBASE".to_owned()).or_insert_with(|| packages.display().to_string());
        }
    }
    all
}

/// The texts in one sequence of bytes. A zero byte follows each text.
fn joined(texts: impl Iterator<Item = String>) -> Vec<u8> {
    texts.flat_map(|text| text.into_bytes().into_iter().chain([0])).collect()
}

fn make(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| output::cannot_write(folder, &error))
}

fn save(path: &Path, bytes: &[u8]) -> Outcome {
    fs::write(path, bytes).map_err(|error| output::cannot_write(path, &error))
}

fn executable(path: &Path) -> Outcome {
    mode::set(path, 0o555).map_err(|error| output::cannot_write(path, &error))
}
