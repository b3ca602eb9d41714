package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
