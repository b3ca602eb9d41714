package add

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/sandbox"
)

// volatilePath is a path that the server was given and that does not exist. If a confined program
// writes there without permission, the data is lost when it ends.
type volatilePath struct {
	variable string // variable with the path, or "" for an argument
	path     string
	folder   string // folder for which the program needs the permission to write
	moved    string // path in a new folder, if other programs use the original one; otherwise ""
}

// typedVariables returns the sorted names of the variables for which the user typed an absolute
// path.
func (w *addition) typedVariables() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(w.written.Env)) {
		if value := w.written.Env[name]; slices.Contains(w.typed, value) && filepath.IsAbs(value) {
			names = append(names, name)
		}
	}
	return names
}

// allowVariables allows a program to use its variables as its arguments: to write into folders and
// read files. It excludes folders of the system, and folders that other programs use.
func (w *addition) allowVariables(p *sandbox.Profile) {
	var paths []string
	for _, name := range w.typedVariables() {
		path := w.written.Env[name]
		if folder, shared := sandbox.DataFolder(path); folder == filepath.Clean(path) && (shared || ofSystem.MatchString(folder)) {
			continue
		}
		paths = append(paths, path)
	}
	for _, path := range w.settingPaths() {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	allowArguments(w.Launcher.Place, p, paths)
}

// ofSystem matches folders from which programs only read, as in JAVA_HOME and PATH.
var ofSystem = regexp.MustCompile(`^/(usr|bin|sbin|lib|lib32|lib64|etc|opt|nix|dev|proc|sys)(/|$)`)

// unkept returns the missing paths for which the program lacks a permission.
func (w *addition) unkept() (all []volatilePath) {
	add := func(variable, path string) {
		if _, err := os.Stat(path); !os.IsNotExist(err) || launch.Covers(w.sandbox.Write, w.Launcher.Place.Tilde(path)) || launch.Covers(w.sandbox.Read, w.Launcher.Place.Tilde(path)) {
			return
		}
		u := volatilePath{variable: variable, path: path}
		var shared bool
		if u.folder, shared = sandbox.DataFolder(path); shared && u.folder != path {
			u.folder = filepath.Join(u.folder, w.name+"-data")
			u.moved = filepath.Join(u.folder, filepath.Base(path))
		}
		all = append(all, u)
	}
	for _, file := range w.missingFiles() {
		add("", w.Launcher.Place.Absolute(w.Launcher.Place.Expand(file)))
	}
	home, _ := w.Launcher.Place.UserHomeDir()
	for _, name := range w.typedVariables() { // only variables, because a URL's path begins with a slash too
		path := filepath.Clean(w.written.Env[name])
		dir := filepath.Dir(path)
		if below, err := filepath.Rel(home, path); err == nil && home != "" && filepath.IsLocal(below) || dir != "/" && isFolder(dir) && !ofSystem.MatchString(path) {
			add(name, path)
		}
	}
	return all
}

// keepData asks the user for the permission to write to missing paths. If the user cannot be asked,
// the error names the flags. Without the permission the server would seem to work, but lose its
// data when it ends.
func (w *addition) keepData(ctx context.Context) error {
	if w.sandbox == nil || w.bySettings != nil {
		return nil
	}
	all := w.unkept()
	if len(all) == 0 || !slices.Contains(sandbox.Available().Confined, "files") {
		return nil
	}
	for _, u := range all {
		if launch.Covers(w.sandbox.Write, w.Launcher.Place.Tilde(u.path)) { // the agreement for an earlier path covers this one
			continue
		}
		if !w.asks() {
			return commandline.Errorf("%s gets %s, which does not exist, and files that the server writes there are deleted when the server ends: %s; --read %s adds it nevertheless", w.name, u.displayPath(), u.remedy(), plaintext.ShellWord(u.path))
		}
		question := fmt.Sprintf("Let it write into %s, to keep its files?", w.Launcher.Place.Tilde(u.folder))
		if u.moved != "" {
			question = fmt.Sprintf("Other programs use that folder. Give it the writable folder %s instead?", w.Launcher.Place.Tilde(u.moved))
		}
		agreed, err := w.confirm(ctx, fmt.Sprintf("%s gets %s, which does not exist. %s", w.name, plaintext.Line(u.displayPath(), maxReason), question))
		if err != nil {
			return err
		}
		if !agreed {
			w.notes = append(w.notes, fmt.Sprintf("files that the server writes to %s are deleted when the server ends: %s", u.displayPath(), u.remedy()))
			continue
		}
		w.sandbox.Write = append(w.sandbox.Write, w.Launcher.Place.Tilde(u.folder))
		w.move(u)
	}
	return nil
}

// displayPath returns the path with the name of its variable.
func (u volatilePath) displayPath() string {
	if u.variable != "" {
		return u.variable + "=" + u.path
	}
	return u.path
}

// remedy describes how to keep the data.
func (u volatilePath) remedy() string {
	write := "--write " + plaintext.ShellWord(u.folder)
	switch {
	case u.moved == "":
		return write + " lets the server keep its data"
	case u.variable != "":
		return fmt.Sprintf("other programs use that folder, so give the server a folder of its own, with --env %s --write %s", plaintext.ShellWord(u.variable+"="+u.moved), plaintext.ShellWord(u.folder))
	}
	return fmt.Sprintf("other programs use that folder, so give the server a folder of its own: write %s in place of that path, and add %s", plaintext.ShellWord(u.moved), write)
}

// move changes the entry to the path in the new folder.
func (w *addition) move(u volatilePath) {
	switch {
	case u.moved == "":
	case u.variable != "":
		w.written.Env[u.variable] = u.moved
		w.typed = append(w.typed, u.moved)
	default:
		for i, arg := range w.written.Args {
			if slices.Contains(w.typed, arg) && (filepath.IsAbs(arg) || isPath(arg)) && w.Launcher.Place.Absolute(arg) == u.path {
				w.written.Args[i] = u.moved
				w.typed = append(w.typed, u.moved)
			}
		}
	}
}

// A dataPlace is a place for the data of a server to which none was given.
type dataPlace struct {
	variable string // variable for the path
	path     string // value of the variable
	folder   string // folder for this server only
}

// placeForData returns a place for the server's data, in a folder below Junction's own that has the
// server's name. It returns nil unless the package names exactly one variable for data.
func (w *addition) placeForData() *dataPlace {
	about := w.about()
	if w.pkg != nil {
		for _, v := range w.pkg.EnvironmentVariables { // variables listed by the author
			if v.Value == "" && !v.IsSecret && dataVariable.FindString(v.Name) == v.Name && about.DataVariable != v.Name {
				about.isOnly = about.DataVariable == ""
				about.DataVariable = v.Name
			}
		}
	}
	data := w.Launcher.Place.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := w.Launcher.Place.UserHomeDir()
		if err != nil {
			return nil
		}
		data = filepath.Join(home, ".local", "share")
	}
	if !about.isOnly || about.DataVariable == "" || w.written.Env[about.DataVariable] != "" {
		return nil
	}
	d := &dataPlace{variable: about.DataVariable, folder: filepath.Join(data, "junction", w.name)}
	d.path = d.folder
	if isFile := strings.Contains(d.variable, "FILE") || strings.HasSuffix(d.variable, "DB") || strings.HasSuffix(d.variable, "DB_PATH"); isFile || about.DataFile != "" && strings.HasSuffix(d.variable, "PATH") {
		d.path = filepath.Join(d.folder, cmp.Or(about.DataFile, "data"))
	}
	return d
}

// giveData sets the variable to that place and starts the server again.
func (w *addition) giveData(ctx context.Context) (bool, error) {
	_, before := os.Stat(w.data.folder)
	if err := os.MkdirAll(w.data.folder, 0o700); err != nil {
		return false, err
	}
	if w.written.Env == nil {
		w.written.Env = map[string]string{}
	}
	w.written.Env[w.data.variable] = w.data.path
	w.typed = append(w.typed, w.data.path)
	w.sandbox.Write = append(w.sandbox.Write, w.Launcher.Place.Tilde(w.data.folder))
	defined := lockedDefinitions(w.dry.definitions)
	if err := w.rehearse(ctx); err != nil {
		if before != nil {
			_ = os.Remove(w.data.folder) // fails if the server left files in it
		}
		return false, err
	}
	w.say("It keeps its data in %s, by %s.", w.Launcher.Place.Tilde(w.data.path), w.data.variable)
	w.data = nil
	if maps.Equal(defined, lockedDefinitions(w.dry.definitions)) {
		return true, nil
	}
	w.show() // the definitions may have changed
	return w.askConsent(ctx, "Add it?", []launch.Choice{yes})
}

// noteForgetful adds a note for a confined program that has writing tools but no place to keep
// data. If the user can be asked and the package names the variable for data, the final question
// offers a place.
func (w *addition) noteForgetful() {
	if w.argument == "" || w.sandbox == nil || w.bySettings != nil || len(w.dry.unconfined) > 0 || len(w.sandbox.Write)+len(w.sandbox.Hosts) > 0 ||
		!slices.ContainsFunc(w.dry.tools, func(t *mcp.Tool) bool { return !t.Annotations.ReadsOnly() }) {
		return
	}
	if w.asks() {
		if w.data = w.placeForData(); w.data != nil {
			return
		}
	}
	note := "it cannot save data, so its data is lost; to give it a place: "
	again := w.again("--write FOLDER", "")
	if name := w.about().DataVariable; name != "" && w.written.Env[name] == "" {
		note += "its README names " + name + "; "
		again = w.again("--env "+name+"=FOLDER/… --write FOLDER", "")
	}
	w.notes = append(w.notes, note+again)
}

// missingFolders returns those of the user's arguments that are missing folders: paths whose last
// name has no dot.
func (w *addition) missingFolders() (all []string) {
	if w.locked == nil || w.locked.IsContainer() { // paths in its arguments are inside the container
		return nil
	}
	for _, arg := range w.written.Args {
		if !slices.Contains(w.typed, arg) || !filepath.IsAbs(arg) && !isPath(arg) || strings.Contains(filepath.Base(arg), ".") {
			continue
		}
		if _, err := os.Stat(w.Launcher.Place.Path(arg)); os.IsNotExist(err) {
			all = append(all, arg)
		}
	}
	return all
}

// makeFolders makes the missing folders, if the user agrees, so that the server can start and write
// into them. undo removes those that are still empty.
func (w *addition) makeFolders(ctx context.Context) (undo func(), err error) {
	var made []string
	undo = func() {
		for _, folder := range slices.Backward(made) {
			_ = os.Remove(folder) // fails if the server left files in it
		}
	}
	if !w.asks() { // the start of the server, or a note, will report the missing folder
		return undo, nil
	}
	for _, folder := range w.missingFolders() {
		agreed, err := w.confirm(ctx, fmt.Sprintf("The folder %s, which %s needs, does not exist. Make it?", plaintext.Line(folder, maxReason), w.name))
		if err != nil {
			return undo, err
		}
		if !agreed {
			continue
		}
		for parent, end := folder, len(made); ; parent = filepath.Dir(parent) {
			if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
				break
			}
			made = slices.Insert(made, end, parent)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// missingFiles returns those of the user's arguments that are missing files: paths in an existing
// folder whose last name has a dot. The server may create them.
func (w *addition) missingFiles() (all []string) {
	for _, arg := range w.typedArgs() {
		if !filepath.IsAbs(arg) && !isPath(arg) || !strings.Contains(filepath.Base(arg), ".") {
			continue
		}
		if _, err := os.Stat(w.Launcher.Place.Path(arg)); os.IsNotExist(err) && isFolder(w.Launcher.Place.Path(filepath.Dir(arg))) {
			all = append(all, w.Launcher.Place.Tilde(arg))
		}
	}
	return all
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// noteMissing adds notes on missing folders and files.
func (w *addition) noteMissing() {
	for _, folder := range w.missingFolders() {
		note := "there is no folder " + folder
		if w.sandbox != nil {
			note += fmt.Sprintf("; once it exists, allow writing with junction server sandbox allow %s --write FOLDER", plaintext.ShellWord(w.name))
		}
		w.notes = append(w.notes, note)
	}
}
