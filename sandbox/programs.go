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
	hops      = 40  // links and interpreters that a program stands behind, as the kernel has it
	firstLine = 256 // bytes of a script's first line, as the kernel reads
)

// programPlaces are the program of a command, the folder that it is started in, and the folders that it reads because it is made of them or is
// started there; own are those of which it is made.
func (s *Sandbox) programPlaces(cmd *exec.Cmd) (path, dir string, folders, own []string, err error) {
	if dir, err = filepath.Abs(cmd.Dir); err != nil { // of "" it is the present one
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
	_, written := s.written()
	folders = append(folders, programFolders(path, searched, written)...)
	own = slices.Clone(folders)
	if cmd.Dir != "" && s.o.Folder {
		switch names := namesOf(dir); {
		case inSecret(dir) && !slices.ContainsFunc(names, func(name string) bool { return isWithinAny(name, s.allowedFiles()) }):
			return "", "", nil, nil, fmt.Errorf("%s is where keys, logins or histories are kept, and no folder for a program to start in that its profile does not name", dir)
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

// programFolders are the folders that a program is made of: its own, those of the links by which it is found, and
// those of the interpreters that its first line names, as far as they do not belong to the system anyway. What the program itself
// may write leads nowhere: it could choose what it reads when it is started again.
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
		path = interpreterOf(path, searched) // where there is none, this was the last
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

func isWithinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

func realFolder(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// interpreterOf is the program that the first line of a script names, or "". Its folder is shown, so nothing is guessed: what stands
// behind options or variables of env may be any path, and so may what nobody could execute.
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

// manyPrograms are what programs need of a folder into which many are installed. Its var and etc are data and settings of each of them, such as those of
// a database that runs as this user.
var manyPrograms = []string{"Cellar", "Frameworks", "bin", "etc/ca-certificates", "etc/openssl@3", "lib", "libexec", "opt", "share"}

// installation is what must be read to run a program: all below the folder that has its bin, where that has
// nothing else; or the program's own folder.
func installation(path string) []string {
	dir := filepath.Dir(path)
	prefix := filepath.Dir(dir)
	if base := filepath.Base(dir); base == "bin" && (prefix == "/usr/local" || exists(filepath.Join(prefix, "Cellar"))) { // Homebrew's, or macOS's
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

// ownFolder is installation, of a program that shares its folder with no others.
func ownFolder(path, dir, prefix string) string {
	if strings.HasPrefix(path, "/nix/store/") {
		return "/nix/store"
	}
	switch base := filepath.Base(dir); {
	case base == "shims" && !holdsPerson(prefix): // of pyenv, nodenv and others, which look for the program below
		return prefix
	case base != "bin" && base != ".bin":
		if p := packageFolder(dir); p != "" {
			return p
		}
		if holdsPerson(dir) || holdsPerson(prefix) {
			return path // next to it may be anything
		}
		return dir
	case base == ".bin" && filepath.Base(prefix) == "node_modules":
		return prefix
	case holdsPerson(prefix):
		return dir
	case exists(filepath.Join(prefix, "lib")), exists(filepath.Join(prefix, "pyvenv.cfg")):
		return prefix
	}
	return dir
}

// packageFolder is the folder of the package or project that a folder belongs to, with what it depends on; "" without one.
func packageFolder(dir string) string {
	if i := strings.Index(dir+"/", "/node_modules/"); i > 0 {
		return dir[:i] + "/node_modules"
	}
	for at := dir; !holdsPerson(at); at = filepath.Dir(at) {
		if exists(filepath.Join(at, "package.json")) || exists(filepath.Join(at, "pyproject.toml")) {
			return at
		}
	}
	return ""
}

// holdsPerson reports whether a folder is not a program's: the root, a home folder, one that has home folders, or
// ~/.local, where other programs keep what they know.
func holdsPerson(dir string) bool {
	home := home()
	return slices.Contains([]string{"/", "/home", "/root", "/Users", "/Library", "/private", "/private/tmp", "/private/var"}, dir) || filepath.Dir(dir) == "/home" || filepath.Dir(dir) == "/Users" || dir == "/tmp" || dir == "/var" || dir == "/opt" ||
		home != "" && (dir == home || strings.HasPrefix(home+"/", dir+"/") || dir == filepath.Join(home, ".local"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// scriptFolder is the folder of the first argument that is a file: what an interpreter is to run. "" without one.
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
			return "" // what follows are the arguments of something else
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
		if dir := filepath.Dir(path); holdsPerson(dir) || holdsPerson(filepath.Dir(dir)) {
			return path
		}
		return filepath.Dir(path)
	}
	return ""
}

var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".jar", ".sh", ".php", ".dll"}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

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

const (
	maxMentioned      = 32        // paths that are found in the texts of one failure
	maxMentionedText  = 64 << 10  // bytes of each text that are searched
	maxMentionedTexts = 256 << 10 // of all of them
	maxMentionedPath  = 4096      // bytes, as in Linux
)

// pathsIn are the absolute paths that texts name: a text that is one, and those that stand in quotes or between spaces.
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
			add(line) // with the spaces that it has
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

// secretPlaces are the folders and files where keys, logins and histories are kept, each as it is called and where it
// really is, as a link may lead there from elsewhere.
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

// namesOf are a path and where it really is; none for "".
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

// inSecret reports whether a path is one where secrets are kept, or in one.
func inSecret(path string) bool {
	secret := secretPlaces()
	return slices.ContainsFunc(namesOf(path), func(name string) bool { return isWithinAny(name, secret) })
}

// holdsPrivate reports whether a path is the home folder or has it, or has a place of secrets, in it.
func holdsPrivate(path string) bool {
	private := slices.Concat(namesOf(home()), slices.DeleteFunc(secretPlaces(), func(place string) bool { return !exists(place) }))
	return slices.ContainsFunc(namesOf(path), func(name string) bool {
		return holdsPerson(name) || slices.ContainsFunc(private, func(place string) bool { return within(place, name) })
	})
}

// isCertificates reports whether a variable of a program names certificates that it is to read. What a bundle or an entry
// of a project says would be a way to read any folder, so only what Junction itself was started with counts, and no
// folder of which certificates are a small part.
func isCertificates(name, value string) bool {
	return slices.Contains(certificates, name) && filepath.IsAbs(value) && value == os.Getenv(name) && !inSecret(value) && !holdsPrivate(value)
}

// junctionPlaces are where Junction keeps its settings, approvals, conversations and packages, and is spoken with.
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

// secretInHome is where people keep what no server needs unless they say so.
var secretInHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".password-store", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d",
	".config/gcloud", ".config/gh", ".config/git/credentials", ".config/junction", ".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", ".local/share/keyrings",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".claude.json", ".cursor", "Library/Keychains", "Library/Cookies", "Library/Messages", "Library/Mail",
	"Library/Application Support/Google", "Library/Application Support/Firefox",
}
