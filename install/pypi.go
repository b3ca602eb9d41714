package install

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// pypi installs Python packages into a virtual environment, with the user's uv, or else with the
// pip of their python3.
type pypi struct {
	web     *http.Client
	neutral string
}

// whichPython prints the interpreter and system for which pip resolved dependencies.
const whichPython = `import platform, sys; print(sys.implementation.name, "%d.%d" % sys.version_info[:2], sys.platform, platform.machine())`

func (k pypi) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	want, err := wanted(p)
	if err != nil {
		return nil, err
	}
	if p.Registry, err = k.registry(ctx, p.Registry); err != nil {
		return nil, err
	}
	lock, err := k.lock(ctx, p, want, dir)
	if err != nil {
		return nil, k.explain(ctx, p, err)
	}
	plain, _, _ := splitExtras(p.Name)
	i := slices.IndexFunc(lock.Requirements, func(r requirement) bool { return normal(r.Name) == normal(plain) })
	if i < 0 {
		return nil, errors.New("is not among the resolved packages")
	}
	self := lock.Requirements[i]
	integrity := self.Hashes[0]
	if page, err := k.page(ctx, p, plain); err == nil {
		if page.pulled(self.Version) {
			return nil, fmt.Errorf("version %s %w: %s", self.Version, ErrPulled, page.why(self.Version))
		}
		if hash := page.mainHash(self.Version); slices.Contains(self.Hashes, hash) {
			integrity = hash
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "self.txt"), (&pypiLock{Requirements: []requirement{self}}).text(), 0o600); err != nil {
		return nil, err
	}
	// Install the package temporarily to find its programs. The download stays in the cache of pip
	// or uv, so the final installation does not repeat it.
	site := filepath.Join(dir, "site")
	if err := k.pip(ctx, p, dir, "install", "--target="+site, "--no-deps", "--require-hashes", "-r", "self.txt"); err != nil {
		return nil, k.explain(ctx, p, err)
	}
	program, err := pypiProgram(p, plain, site)
	if err != nil {
		return nil, err
	}
	p.Bin, p.Version = cmp.Or(uvxBin(plain, program), p.Bin), self.Version
	l := &Locked{Package: p, Integrity: integrity, Program: program}
	l.Dependencies, err = json.Marshal(lock)
	return l, err
}

// lock resolves a package's requirements to exact versions with the hashes of their files.
func (k pypi) lock(ctx context.Context, p Package, want []string, dir string) (*pypiLock, error) {
	if present("uv") {
		flags := []string{"--universal", "--no-python-downloads"}
		if path, err := lookUp(python()); err == nil {
			flags = append(flags, "--python", path)
		}
		return k.compile(ctx, p, want, dir, installTime, flags...)
	}
	lock, err := k.report(ctx, p, dir, append([]string{"--quiet"}, want...)...)
	if err != nil {
		return nil, err
	}
	k.addHashes(ctx, p, lock)
	here, err := run(ctx, command{name: python(), args: []string{"-c", whichPython}, dir: k.neutral, time: askTime})
	lock.For = strings.TrimSpace(string(here))
	return lock, err
}

// compile resolves requirements with uv.
func (k pypi) compile(ctx context.Context, p Package, want []string, dir string, limit time.Duration, flags ...string) (*pypiLock, error) {
	in := filepath.Join(dir, "wanted.in")
	if err := os.WriteFile(in, []byte(strings.Join(want, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"pip", "compile", in, "--generate-hashes", "--no-header", "--no-annotate", "--quiet"}, flags, onlyBinary(p))
	out, err := run(ctx, command{name: "uv", args: args, dir: dir, env: k.uvEnv(ctx, p), time: limit})
	if err != nil {
		return nil, err
	}
	all, err := parseRequirements(string(out))
	return &pypiLock{Requirements: all}, err
}

// report resolves the requirements at the end of args with pip.
func (k pypi) report(ctx context.Context, p Package, dir string, args ...string) (*pypiLock, error) {
	file := filepath.Join(dir, "report.json")
	if err := k.pip(ctx, p, dir, append([]string{"install", "--dry-run", "--ignore-installed", "--report=" + file}, args...)...); err != nil {
		return nil, err
	}
	text, err := readLimited(file, maxIndex)
	if err != nil {
		return nil, err
	}
	return readReport(text)
}

// readReport parses the file that pip install --report wrote.
func readReport(text []byte) (*pypiLock, error) {
	var report struct {
		Install []struct {
			Info struct {
				URL     string `json:"url"`
				Archive struct {
					Hash   string            `json:"hash"`
					Hashes map[string]string `json:"hashes"`
				} `json:"archive_info"`
			} `json:"download_info"`
			Direct   bool `json:"is_direct"`
			Yanked   bool `json:"is_yanked"`
			Asked    bool `json:"requested"`
			Metadata struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"metadata"`
		} `json:"install"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("pip's report: %w", err)
	}
	lock := &pypiLock{}
	for _, i := range report.Install {
		hash := i.Info.Archive.Hashes["sha256"]
		if old, ok := strings.CutPrefix(i.Info.Archive.Hash, "sha256="); ok && hash == "" {
			hash = old
		}
		if i.Direct || hash == "" {
			return nil, fmt.Errorf("its dependency %s comes from an address, without a hash: only packages from an index can be locked", i.Metadata.Name)
		}
		if i.Yanked && i.Asked {
			return nil, fmt.Errorf("version %s %w", i.Metadata.Version, ErrPulled)
		}
		lock.Requirements = append(lock.Requirements, requirement{Name: normal(i.Metadata.Name), Version: i.Metadata.Version, Hashes: []string{"sha256:" + hash}})
	}
	slices.SortFunc(lock.Requirements, func(a, b requirement) int { return cmp.Compare(a.Name, b.Name) })
	return lock, nil
}

// onlyBinary returns the options with which pip and uv do not build packages, because building runs
// their code. It returns nil if Scripts permits that.
func onlyBinary(p Package) []string {
	if p.Scripts {
		return nil
	}
	return []string{"--only-binary", ":all:"}
}

// pip runs a command of pip, through uv if uv is installed.
func (k pypi) pip(ctx context.Context, p Package, dir string, args ...string) error {
	args = append(args, onlyBinary(p)...)
	if present("uv") {
		args = append(append([]string{"pip"}, args...), "--quiet", "--no-python-downloads", "--link-mode=copy") // with links, modifying the installed file would modify uv's cache
		if !slices.Contains(args, "--python") {
			if path, err := lookUp(python()); err == nil {
				args = append(args, "--python", path)
			}
		}
		_, err := run(ctx, command{name: "uv", args: args, dir: dir, env: k.uvEnv(ctx, p), time: installTime})
		return err
	}
	args = append(args, "--no-input", "--disable-pip-version-check", "--quiet")
	if p.Registry != "" {
		args = append(args, "--index-url", p.Registry)
	}
	into := []string{"-m", "pip"}
	if i := slices.Index(args, "--python"); i >= 0 { // pip expects this option before its command
		into = append(into, args[i:i+2]...)
		args = slices.Delete(args, i, i+2)
	}
	_, err := run(ctx, command{name: python(), args: append(into, args...), dir: dir, time: installTime})
	if failedWith(err, "No module named pip") {
		return fmt.Errorf("pip %w: install it (apt install python3-pip, or python3 -m ensurepip), or uv (docs.astral.sh/uv)", ErrRuntime)
	}
	return err
}

// pypiProgram returns the command line to start. It prefers the program with the name p.Bin or, by
// default, with the package's name, which uvx also prefers. Next is the only program of the
// package, if p.Bin is not set, and then the package's module.
func pypiProgram(p Package, plain, site string) ([]string, error) {
	var names []string
	for _, sub := range []string{"bin", "Scripts"} {
		entries, _ := os.ReadDir(filepath.Join(site, sub))
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), ".exe"))
		}
	}
	chosen := cmp.Or(p.Bin, plain)
	i := slices.IndexFunc(names, func(name string) bool { return normal(name) == normal(chosen) })
	module := strings.ReplaceAll(normal(chosen), "-", "_")
	_, noModule := os.Stat(filepath.Join(site, module, "__main__.py"))
	switch {
	case i >= 0:
		return []string{"./bin/python", "./bin/" + names[i]}, nil
	case p.Bin == "" && len(names) == 1:
		return []string{"./bin/python", "./bin/" + names[0]}, nil
	case noModule == nil:
		return []string{"./bin/python", "-m", module}, nil
	case len(names) == 0:
		return nil, errors.New("has no program to start: it is a library")
	}
	return nil, fmt.Errorf("%w %q: choose one of %s", ErrNoProgram, chosen, strings.Join(names, ", "))
}

// uvxBin returns the program name that uvx must be given, or "" if the program has the package's
// name. Without the name, uvx would only print a list.
func uvxBin(plain string, program []string) string {
	script, is := strings.CutPrefix(program[1], "./bin/")
	if !is || script == plain {
		return ""
	}
	return script
}

func (k pypi) install(ctx context.Context, l *Locked, dir string) error {
	lock, err := readPyPILock(l)
	if err != nil {
		return err
	}
	requirements := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(requirements, lock.text(), 0o600); err != nil {
		return err
	}
	if _, err := run(ctx, command{name: python(), args: []string{"-m", "venv", "--without-pip", "--symlinks", dir}, dir: dir, time: askTime}); err != nil {
		return err
	}
	interpreter := filepath.Join(dir, "bin", "python")
	if runtime.GOOS == "windows" {
		interpreter = filepath.Join(dir, "Scripts", "python.exe")
	}
	// From here on the environment's interpreter is started only through plainPython, and no other
	// program in its folder is started. Both would run code of packages.
	args := []string{"install", "--require-hashes", "-r", requirements, "--python", interpreter}
	here := lock.For
	if lock.For != "" {
		out, _ := plainPython(ctx, interpreter, askTime, "-c", whichPython)
		here = string(bytes.TrimSpace(out))
	}
	if here == lock.For { // on another system it may need more packages; that fails, because the lock has no hashes for them
		args = append(args, "--no-deps")
	}
	err = k.pip(ctx, l.Package, dir, args...)
	if err != nil && here != lock.For {
		return fmt.Errorf("it was locked for %s, but this system is %s: lock it again (junction server upgrade), with uv for all systems: %w", lock.For, here, err)
	}
	if err = k.explain(ctx, l.Package, err); errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w since it was locked: %w", ErrPulled, err)
	}
	if err == nil && present("uv") { // pip compiles files itself. With uv they are compiled here, because a confined server cannot write the result, and uv would run code of packages.
		// Errors are ignored, because some packages contain files that are invalid in this version
		// of Python.
		_, _ = plainPython(ctx, interpreter, installTime, "-m", "compileall", "-qq", "-j", "0", dir)
		err = context.Cause(ctx)
	}
	return err
}

// plainPython runs an interpreter without running code that packages in its environment add to its
// start (.pth files).
func plainPython(ctx context.Context, interpreter string, limit time.Duration, args ...string) ([]byte, error) {
	return run(ctx, command{name: interpreter, args: append([]string{"-I", "-S"}, args...), time: limit})
}

// program returns the command line of a script with the environment's interpreter. The script's own
// first line names a folder that was renamed.
func (pypi) program(l *Locked, dir string) (*Program, error) {
	if err := l.expect("./bin/python", "./bin/*"); err != nil && l.expect("./bin/python", "-m", "*") != nil {
		return nil, err
	}
	words := slices.Clone(l.Program)
	if runtime.GOOS == "windows" {
		for i, word := range words {
			if name, ok := strings.CutPrefix(word, "./bin/"); ok {
				words[i] = "./Scripts/" + name + ".exe"
			}
		}
	}
	words, err := inFolder(words, dir)
	if err != nil {
		return nil, err
	}
	return &Program{Dir: dir, Argv: words, Env: map[string]string{"PYTHONDONTWRITEBYTECODE": "1"}}, nil
}

// realPython returns the path of the interpreter to which a virtual environment links, or "". A
// newer Python at that path would not find the packages.
func realPython(dir string) string {
	link := filepath.Join(dir, "bin", "python")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		return ""
	}
	path, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "gone"
	}
	return path
}
