package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	hops      = 40  // links and interpreters before a program; the kernel has the same limit
	firstLine = 256 // bytes of a script's first line; the kernel reads as many
)

// programPlaces returns the path of a command's program, its working directory, and the folders
// that it must read because they contain it or are its working directory. own lists the folders
// that contain the program.
func (s *Sandbox) programPlaces(cmd *exec.Cmd) (path, dir string, folders, own []string, err error) {
	if dir, err = filepath.Abs(cmd.Dir); err != nil { // "" is the current folder
		return "", "", nil, nil, err
	}
	path = cmd.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", "", nil, nil, err
	}
	searched := ""
	folders = slices.Clone(s.o.Package)
	for _, pair := range cmd.Environ() {
		switch name, value, _ := strings.Cut(pair, "="); {
		case name == "PATH":
			searched = value
		case isCertificates(name, value):
			folders = append(folders, value)
		}
	}
	_, written := s.writtenPaths()
	folders = append(folders, programFolders(path, searched, written)...)
	own = slices.Clone(folders)
	if cmd.Dir != "" && s.o.Folder {
		switch names := namesOf(dir); {
		case inSecret(dir) && !slices.ContainsFunc(names, func(name string) bool { return isWithinAny(name, s.allowedFiles()) }):
			return "", "", nil, nil, fmt.Errorf("%s holds keys, logins or histories: a program may start there only if its profile names the folder", dir)
		case !holdsPrivate(dir):
			folders = append(folders, dir)
		}
	}
	if len(cmd.Args) > 1 {
		if script := scriptFolder(cmd.Args[1:], dir, written); script != "" {
			folders, own = append(folders, script), append(own, script)
		}
	}
	return path, dir, folders, own, nil
}

// programFolders returns the folders that contain a program, except folders of the system. These
// are its own folder, those of links to it, and those of interpreters in its first line. It does
// not follow files in written, because the program could write a new first line and thereby choose
// what it can read at its next start.
func programFolders(path, searched string, written []string) []string {
	var folders []string
	for range hops {
		if !filepath.IsAbs(path) {
			break
		}
		if isWithinAny(filepath.Join(realFolder(path), filepath.Base(path)), written) {
			break
		}
		folders = append(folders, installation(path)...)
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(realFolder(path), target)
			}
			path = target
			continue
		}
		path = interpreterOf(path, searched) // "" after the last interpreter
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

func isWithinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isWithin(path, dir) })
}

func realFolder(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// interpreterOf returns the program in the first line of a script, or "". The program's folder
// becomes readable, so interpreterOf does not guess. It returns "" for words after options or
// variables of env, which may be any path, and for a line that cannot be executed.
func interpreterOf(path, searched string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, firstLine)).ReadString('\n')
	line, isScript := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !isScript || len(words) == 0 {
		return ""
	}
	program := words[0]
	if filepath.Base(program) == "env" {
		if len(words) != 2 || strings.HasPrefix(words[1], "-") || strings.Contains(words[1], "=") {
			return ""
		}
		if program = words[1]; !strings.Contains(program, "/") {
			program = find(program, searched)
		}
	}
	if !filepath.IsAbs(program) || !isExecutable(program) {
		return ""
	}
	return program
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0 && info.Mode().IsRegular()
}

func find(name, searched string) string {
	for _, dir := range filepath.SplitList(searched) {
		path := filepath.Join(dir, name)
		if isExecutable(path) {
			return path
		}
	}
	return ""
}

// manyPrograms lists the parts of a folder shared by many programs that each of them needs. Other
// parts, such as var and most of etc, contain data and settings of the programs, for example of a
// database that runs as this user.
var manyPrograms = []string{"Cellar", "Frameworks", "bin", "etc/ca-certificates", "etc/openssl@3", "lib", "libexec", "opt", "share"}

// installation returns the paths that must be readable to run a program. It is the folder above its
// bin if that belongs to this program only, otherwise the program's own folder.
func installation(path string) []string {
	dir := filepath.Dir(path)
	prefix := filepath.Dir(dir)
	if base := filepath.Base(dir); base == "bin" && (prefix == "/usr/local" || exists(filepath.Join(prefix, "Cellar"))) { // Homebrew's folder, or /usr/local on macOS
		var all []string
		for _, name := range manyPrograms {
			if part := filepath.Join(prefix, name); exists(part) {
				all = append(all, part)
			}
		}
		return all
	}
	return []string{ownFolder(path, dir, prefix)}
}

// ownFolder is like installation, for a program that does not share its folder with others.
func ownFolder(path, dir, prefix string) string {
	if strings.HasPrefix(path, "/nix/store/") {
		return "/nix/store"
	}
	switch base := filepath.Base(dir); {
	case base == "shims" && !holdsUserFiles(prefix): // pyenv, nodenv and similar tools find the program elsewhere below prefix
		return prefix
	case base != "bin" && base != ".bin":
		if p := packageFolder(dir); p != "" {
			return p
		}
		if holdsUserFiles(dir) || holdsUserFiles(prefix) {
			return path // only the file, because the folder's other files are unknown
		}
		return dir
	case base == ".bin" && filepath.Base(prefix) == "node_modules":
		return prefix
	case holdsUserFiles(prefix):
		return dir
	case exists(filepath.Join(prefix, "lib")), exists(filepath.Join(prefix, "pyvenv.cfg")):
		return prefix
	}
	return dir
}

// packageFolder returns the folder of the package or project, including its dependencies, that
// contains a folder, or "".
func packageFolder(dir string) string {
	if i := strings.Index(dir+"/", "/node_modules/"); i > 0 {
		return dir[:i] + "/node_modules"
	}
	for at := dir; !holdsUserFiles(at); at = filepath.Dir(at) {
		if exists(filepath.Join(at, "package.json")) || exists(filepath.Join(at, "pyproject.toml")) {
			return at
		}
	}
	return ""
}

// holdsUserFiles reports whether a folder cannot belong to one program: the root, a home folder, a
// folder that contains home folders, or ~/.local, where other programs keep data.
func holdsUserFiles(dir string) bool {
	home := home()
	return slices.Contains([]string{"/", "/home", "/root", "/Users", "/Library", "/private", "/private/tmp", "/private/var"}, dir) || filepath.Dir(dir) == "/home" || filepath.Dir(dir) == "/Users" || dir == "/tmp" || dir == "/var" || dir == "/opt" ||
		home != "" && (dir == home || strings.HasPrefix(home+"/", dir+"/") || dir == filepath.Join(home, ".local"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// scriptFolder returns the folder of the first argument that is a file, which is the script for an
// interpreter. It returns "" if there is none.
func scriptFolder(args []string, dir string, written []string) string {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		path := arg
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || !slices.Contains(scripts, filepath.Ext(path)) {
			return "" // not a script, so later words are its arguments
		}
		if isWithinAny(filepath.Join(realFolder(path), filepath.Base(path)), written) {
			return ""
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if p := packageFolder(filepath.Dir(path)); p != "" {
			return p
		}
		if dir := filepath.Dir(path); holdsUserFiles(dir) || holdsUserFiles(filepath.Dir(dir)) {
			return path
		}
		return filepath.Dir(path)
	}
	return ""
}

var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".jar", ".sh", ".php", ".dll"}

func isWithin(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// writtenPaths returns the folders that the program may write, as named in the profile and as real
// paths. The program can put links into these folders. So a path that leads over a link inside
// another of the folders is omitted.
func (s *Sandbox) writtenPaths() (paths, really []string) {
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

// follow returns the links on a path, and the path at their end, which may not exist.
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

// absolute returns a path of the profile with ~ replaced by the home folder.
func (s *Sandbox) absolute(path string) string {
	if rest, found := strings.CutPrefix(path, "~"); found {
		return filepath.Join(home(), rest)
	}
	return path
}

var errPlanted = errors.New("another user made this link, in a folder in which all write")

// checkLinks returns an error if a path leads over a link of another user.
func checkLinks(path string) error {
	_, end := follow(path)
	if _, _, _, err := firstLink(end); errors.Is(err, errPlanted) {
		return err
	}
	return nil
}

// firstLink returns the path after following its first link, and that link with its target. Without
// a link it returns the path itself.
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

// makeWritten creates a path that the program may write, if it is missing. It creates a file if the
// name has an extension, such as notes.db, and otherwise a folder.
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

// hasEnding matches names with exactly one extension. Names such as com.example.app, cache-1.2 and
// .config are folders.
var hasEnding = regexp.MustCompile(`^\.?[^.]+\.[a-zA-Z][a-zA-Z0-9]*$`)

// allowedFiles returns the files and folders of the profile.
func (s *Sandbox) allowedFiles() (list []string) {
	for _, path := range slices.Concat(s.profile.Read, s.profile.Write) {
		list = append(list, s.absolute(path))
	}
	return list
}

// sharedInHome lists folders in a home folder in which each program has a folder of its own.
var sharedInHome = []string{".config", ".cache", ".local/share", ".local/state", ".local/lib", "Library/Application Support", "Library/Caches", "Library/Preferences", "AppData/Local", "AppData/Roaming"}

// isShared reports whether a folder contains data of several programs or users.
func isShared(dir, home string) bool {
	if holdsUserFiles(dir) || slices.Contains([]string{"/etc", "/run", "/mnt", "/media", "/srv", "/Users", "/Volumes", "/var/lib", "/private", "/private/var"}, dir) {
		return true
	}
	return home != "" && slices.ContainsFunc(sharedInHome, func(name string) bool { return isWithin(filepath.Join(home, name), dir) })
}

// DataFolder returns the folder that a program must be able to write to keep data at a path. If the
// path is a folder, or will be one, it is the path itself. For a file it is the file's folder,
// because programs often replace a file by a new one. shared reports whether other programs use
// that folder too, as with the user's home.
func DataFolder(path string) (folder string, shared bool) {
	folder = filepath.Clean(path)
	if info, err := os.Stat(folder); err == nil && !info.IsDir() || err != nil && hasEnding.MatchString(filepath.Base(folder)) {
		folder = filepath.Dir(folder)
	}
	return folder, isShared(folder, home()) || slices.Contains([]string{"/var/tmp", filepath.Clean(os.TempDir())}, folder)
}

const (
	maxMentioned      = 32        // paths used from the texts of one failure
	maxMentionedText  = 64 << 10  // bytes searched of each text
	maxMentionedTexts = 256 << 10 // bytes searched of all texts
	maxMentionedPath  = 4096      // bytes, as on Linux
)

// pathsIn returns the absolute paths in texts. A path can be a whole line, or be in quotes or
// between spaces.
func pathsIn(texts []string) (paths []string) {
	add := func(text string) {
		if address, is := strings.CutPrefix(text, "file://"); is {
			unescaped, err := url.PathUnescape(address)
			if err != nil {
				return
			}
			text = unescaped
		}
		if rest, is := strings.CutPrefix(text, "~/"); is && home() != "" {
			text = filepath.Join(home(), rest)
		}
		if path := filepath.Clean(text); strings.HasPrefix(text, "/") && path != "/" && len(path) <= maxMentionedPath && len(paths) < maxMentioned && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	left := maxMentionedTexts
	for _, text := range texts {
		text = text[:min(len(text), maxMentionedText, left)]
		left -= len(text)
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r < ' ' }) {
			add(line) // the line may be a path with spaces
			for _, quoted := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\"'`‘’“”", r) }) {
				add(quoted)
				for _, word := range strings.FieldsFunc(quoted, func(r rune) bool { return strings.ContainsRune(" =,;()[]{}<>", r) }) {
					add(strings.TrimRight(word, ".:!?"))
				}
			}
		}
	}
	return paths
}

// secretPlaces returns the folders and files with keys, logins and histories. Each is listed by its
// name and by its real path, because links from elsewhere may lead to the latter.
func secretPlaces() (places []string) {
	for _, dir := range namesOf(home()) {
		for _, name := range secretInHome {
			places = append(places, namesOf(filepath.Join(dir, name))...)
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, namesOf(filepath.Join(dir, "junction"))...)
	}
	return places
}

// namesOf returns a path and its real path, or nothing for "".
func namesOf(path string) []string {
	if path == "" {
		return nil
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		return []string{path, real}
	}
	return []string{path}
}

// inSecret reports whether a path is, or is inside, a place of secrets.
func inSecret(path string) bool {
	secret := secretPlaces()
	return slices.ContainsFunc(namesOf(path), func(name string) bool { return isWithinAny(name, secret) })
}

// holdsPrivate reports whether a path is, or contains, the home folder or a place of secrets.
func holdsPrivate(path string) bool {
	private := slices.Concat(namesOf(home()), slices.DeleteFunc(secretPlaces(), func(place string) bool { return !exists(place) }))
	return slices.ContainsFunc(namesOf(path), func(name string) bool {
		return holdsUserFiles(name) || slices.ContainsFunc(private, func(place string) bool { return isWithin(place, name) })
	})
}

// isCertificates reports whether a variable of a program names certificates that the program may
// read. A bundle, or an entry of a project, could set such a variable to any folder. So the value
// must be the one in Junction's own environment, and must not be a folder with private data.
func isCertificates(name, value string) bool {
	return slices.Contains(certificates, name) && filepath.IsAbs(value) && value == os.Getenv(name) && !inSecret(value) && !holdsPrivate(value)
}

// junctionPlaces returns the paths of Junction's settings, approvals, conversations, packages and
// sockets.
func junctionPlaces() (places []string) {
	for _, folder := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		if dir, err := folder(); err == nil {
			places = append(places, namesOf(filepath.Join(dir, "junction"))...)
		}
	}
	if dir := os.Getenv("JUNCTION_STATE"); filepath.IsAbs(dir) {
		places = append(places, namesOf(dir)...)
	}
	return places
}

const (
	ofSecrets  = "it is where keys, logins or histories are kept"
	ofJunction = "it is where Junction keeps its settings, approvals and packages"
	ofPackage  = "it keeps data in its own package, where an upgrade loses it and where it could change itself; name another place in its arguments or variables"
)

// secretInHome lists places of secrets in the user's home folder. No server needs them unless the
// user allows it.
var secretInHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".password-store", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d",
	".config/gcloud", ".config/gh", ".config/git/credentials", ".config/junction", ".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", ".local/share/keyrings",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".claude.json", ".cursor", "Library/Keychains", "Library/Cookies", "Library/Messages", "Library/Mail",
	"Library/Application Support/Google", "Library/Application Support/Firefox",
}
