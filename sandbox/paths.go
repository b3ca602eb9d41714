package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// written are the folders of the profile that the program may write, and where they really are. What is in one of
// them the program can replace, by a link too: a path that leads over a link in another one is left out.
func (s *Sandbox) written() (paths, really []string) {
	var all, finals []string
	var links [][]string
	for _, path := range s.profile.Write {
		path = s.absolute(path)
		hops, final := follow(path)
		all, finals, links = append(all, path), append(finals, final), append(links, hops)
	}
	for i, path := range all {
		others := slices.Delete(slices.Clone(finals), i, i+1)
		if !slices.ContainsFunc(links[i], func(hop string) bool { return isWithinAny(hop, others) }) {
			paths, really = append(paths, path), append(really, finals[i])
		}
	}
	return paths, really
}

// follow returns the links over which a path leads, and where it ends, which may be missing.
func follow(path string) (links []string, final string) {
	path = filepath.Clean(path)
	for range hops {
		followed, hop, _, err := firstLink(path)
		if err != nil || hop == "" {
			break
		}
		links, path = append(links, hop), followed
	}
	return links, path
}

// absolute is a path of the profile with ~ as the home folder.
func (s *Sandbox) absolute(path string) string {
	if rest, found := strings.CutPrefix(path, "~"); found {
		return filepath.Join(home(), rest)
	}
	return path
}

var errPlanted = errors.New("another user made this link, in a folder in which all write")

// checkLinks says whether a path leads over a link of another user.
func checkLinks(path string) error {
	_, end := follow(path)
	if _, _, _, err := firstLink(end); errors.Is(err, errPlanted) {
		return err
	}
	return nil
}

// firstLink returns the path with its first link followed, and that link; or the path itself.
func firstLink(path string) (followed, hop, target string, err error) {
	at := "/"
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, name := range names {
		if name == "" {
			continue
		}
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return "", "", "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if isPlanted(info, filepath.Dir(at)) {
			return "", "", "", fmt.Errorf("%s: %w", at, errPlanted)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return "", "", "", err
		}
		to := target
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		return filepath.Join(append([]string{to}, names[i+1:]...)...), at, target, nil
	}
	return path, "", "", nil
}

// makeWritten makes what is to be written and is not there: a file where its name has an ending, such as notes.db, and else a folder.
func makeWritten(path string) error {
	if exists(path) {
		return nil
	}
	if !hasEnding.MatchString(filepath.Base(path)) {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// hasEnding are names with one ending; com.example.app is a folder, as are cache-1.2 and .config.
var hasEnding = regexp.MustCompile(`^\.?[^.]+\.[a-zA-Z][a-zA-Z0-9]*$`)

// allowedFiles are the files and folders of the profile.
func (s *Sandbox) allowedFiles() (list []string) {
	for _, path := range slices.Concat(s.profile.Read, s.profile.Write) {
		list = append(list, s.absolute(path))
	}
	return list
}

// sharedInHome are folders of a home folder in which each program has a folder of its own.
var sharedInHome = []string{".config", ".cache", ".local/share", ".local/state", ".local/lib", "Library/Application Support", "Library/Caches", "Library/Preferences", "AppData/Local", "AppData/Roaming"}

// isShared reports whether a folder has what belongs to other programs or people.
func isShared(dir, home string) bool {
	if holdsPerson(dir) || slices.Contains([]string{"/etc", "/run", "/mnt", "/media", "/srv", "/Users", "/Volumes", "/var/lib", "/private", "/private/var"}, dir) {
		return true
	}
	return home != "" && slices.ContainsFunc(sharedInHome, func(name string) bool { return within(filepath.Join(home, name), dir) })
}

// DataFolder is the folder that a program has to write in order to keep its data at a path: the path itself, where that is a folder or is made as
// one, or the folder of a file, which programs often replace by another. It reports whether others use that folder, too, such as a person's home.
func DataFolder(path string) (folder string, shared bool) {
	folder = filepath.Clean(path)
	if info, err := os.Stat(folder); err == nil && !info.IsDir() || err != nil && hasEnding.MatchString(filepath.Base(folder)) {
		folder = filepath.Dir(folder)
	}
	return folder, isShared(folder, home()) || slices.Contains([]string{"/var/tmp", filepath.Clean(os.TempDir())}, folder)
}
