package install

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
)

// maxManifest is the maximum size of a manifest.json in bytes.
const maxManifest = 1 << 20

// A Setting describes a value that a bundle (mcpb) needs from the user. It is an entry of
// user_config in the manifest.
type Setting struct {
	Type        string          `json:"type"` // string, number, boolean, directory or file
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Multiple    bool            `json:"multiple,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
	Min         *float64        `json:"min,omitempty"`
	Max         *float64        `json:"max,omitempty"`
}

// mcpConfig is the command line and environment of a bundle.
type mcpConfig struct {
	Command   string               `json:"command"`
	Args      []string             `json:"args"`
	Env       map[string]string    `json:"env"`
	Overrides map[string]mcpConfig `json:"platform_overrides"`
}

// A manifest is the manifest.json of a bundle, with the members that are needed to start it.
type manifest struct {
	ManifestVersion string `json:"manifest_version"`
	DXTVersion      string `json:"dxt_version"` // older name of the version, before 0.2
	Name            string `json:"name"`
	Version         string `json:"version"`
	Server          struct {
		Type       string     `json:"type"`
		EntryPoint string     `json:"entry_point"`
		Config     *mcpConfig `json:"mcp_config"`
	} `json:"server"`
	UserConfig    map[string]Setting `json:"user_config"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

var settingName = lazy.Regexp(`^[A-Za-z0-9_.-]{1,100}$`)

// readManifest parses a manifest.json and checks that this system can start the bundle.
func readManifest(text []byte) (*manifest, error) {
	var m manifest
	if len(text) > maxManifest {
		return nil, fmt.Errorf("manifest.json has more than %d bytes", maxManifest)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	switch v := cmp.Or(m.ManifestVersion, m.DXTVersion); v {
	case "0.1", "0.2", "0.3", "0.4":
	case "":
		return nil, errors.New("manifest.json has no manifest_version, so it may not belong to an mcpb bundle")
	default:
		return nil, fmt.Errorf("manifest.json has the version %.20q, but this Junction supports 0.1 to 0.4: update Junction", v)
	}
	if m.Name == "" || m.Version == "" || len(m.Version) > 100 || strings.ContainsAny(m.Version, "\x00\r\n") {
		return nil, errors.New("manifest.json must have a name, and a version of at most 100 characters")
	}
	s := m.Server
	switch {
	case s.Type == "uv":
		return nil, errors.New("manifest.json has a server of type uv, which installs its dependencies at the start, so they cannot be locked: use the server's PyPI package")
	case !slices.Contains([]string{"node", "python", "binary"}, s.Type):
		return nil, fmt.Errorf("manifest.json has a server of type %.20q, which is not node, python or binary", s.Type)
	case s.EntryPoint == "" || !filepath.IsLocal(filepath.FromSlash(s.EntryPoint)) || strings.Contains(s.EntryPoint, `\`):
		return nil, fmt.Errorf("manifest.json has the entry_point %.100q, which is not a file of the bundle", s.EntryPoint)
	case s.Config == nil || s.Config.Command == "":
		return nil, errors.New("manifest.json lacks server.mcp_config.command, the command that starts the server")
	}
	if p := m.Compatibility.Platforms; len(p) > 0 && !slices.Contains(p, platform()) {
		return nil, fmt.Errorf("the bundle is for %s, and this is %s", oneLine(strings.Join(p, ", ")), platform())
	}
	for name, setting := range m.UserConfig {
		if !settingName().MatchString(name) || !slices.Contains([]string{"string", "number", "boolean", "directory", "file"}, setting.Type) {
			return nil, fmt.Errorf("manifest.json has the setting %.100q of type %.20q, but expected string, number, boolean, directory or file", name, setting.Type)
		}
	}
	return &m, nil
}

// platform returns Node.js's name for this system.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// config returns the command line and environment for this system.
func (m *manifest) config() mcpConfig {
	c := *m.Server.Config
	if over, ok := c.Overrides[platform()]; ok {
		c.Command = cmp.Or(over.Command, c.Command)
		if over.Args != nil {
			c.Args = over.Args
		}
		if over.Env != nil {
			c.Env = over.Env
		}
	}
	return c
}

// words returns the command line as it is in the manifest.
func (m *manifest) words() []string {
	c := m.config()
	return append([]string{c.Command}, c.Args...)
}

// programOf returns the program of a locked bundle. It requires that the words in the lock, to
// which users agree, equal those in the manifest, which are started.
func (m *manifest) programOf(l *Locked, dir string) (*Program, error) {
	if words := m.words(); !slices.Equal(l.Program, words) {
		return nil, fmt.Errorf("the lock starts %q, but its manifest.json starts %q on this system: if that is right, lock it again (junction server upgrade)", l.Program, words)
	}
	return m.program(dir)
}

// program returns the program with an absolute command line. Settings remain in it as
// ${user_config.NAME}; see Program.Fill.
func (m *manifest) program(dir string) (*Program, error) {
	c := m.config()
	fill := strings.NewReplacer(append(homeFolders(), "${__dirname}", dir, "${pathSeparator}", string(filepath.Separator), "${/}", string(filepath.Separator))...)
	p := &Program{Dir: dir, Env: map[string]string{}, Config: m.UserConfig}
	for i, word := range append([]string{c.Command}, c.Args...) {
		filled := fill.Replace(word)
		// The format's examples have paths in the bundle without ${__dirname}.
		if inside := filepath.Join(dir, filepath.FromSlash(filled)); filepath.IsLocal(filepath.FromSlash(filled)) && strings.ContainsAny(filled, "/") && !strings.HasPrefix(filled, "-") && isFile(inside) {
			filled = inside
		}
		if i == 0 && runtime.GOOS == "windows" && filepath.IsAbs(filled) && !isFile(filled) && isFile(filled+".exe") {
			filled += ".exe"
		}
		p.Argv = append(p.Argv, filled)
	}
	for name, value := range c.Env {
		p.Env[name] = fill.Replace(value)
	}
	if m.Server.Type == "python" {
		if _, ok := p.Env["PYTHONDONTWRITEBYTECODE"]; !ok {
			p.Env["PYTHONDONTWRITEBYTECODE"] = "1"
		}
	}
	command := p.Argv[0]
	switch {
	case filepath.IsAbs(command):
		if !isFile(command) {
			return nil, fmt.Errorf("is started by %q, which does not exist: %w", command, ErrRuntime)
		}
		return p, nil
	case strings.ContainsAny(command, `/\`):
		return nil, fmt.Errorf("is started by %q, which is not a file of the bundle", command)
	case command == "python" || command == "python3":
		command = python()
	}
	var err error
	p.Argv[0], err = lookUp(command)
	return p, err
}

// homeFolders returns a list of alternating placeholders and folders, for strings.NewReplacer.
func homeFolders() []string {
	home, _ := os.UserHomeDir()
	return []string{"${HOME}", home, "${DESKTOP}", filepath.Join(home, "Desktop"), "${DOCUMENTS}", filepath.Join(home, "Documents"), "${DOWNLOADS}", filepath.Join(home, "Downloads")}
}

// makeExecutable sets the mode of a binary that was packed on a system without modes.
func (m *manifest) makeExecutable(dir string) error {
	files := []string{m.Server.EntryPoint}
	if inside, ok := strings.CutPrefix(m.config().Command, "${__dirname}/"); ok || strings.Contains(inside, "/") {
		files = append(files, inside)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range files {
		file = filepath.FromSlash(path.Clean(file))
		if info, err := root.Stat(file); m.Server.Type == "binary" && err == nil && info.Mode().IsRegular() {
			if err := root.Chmod(file, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

var placeholder = lazy.Regexp(`\$\{user_config\.([A-Za-z0-9_.-]+)\}`)

// settingPrefix begins the names of an entry's variables that hold the settings of a bundle. In
// manifests, the same names occur in ${user_config.NAME}.
const settingPrefix = "user_config."

// SettingVariable returns the name of the variable that holds a setting of a bundle.
func SettingVariable(name string) string { return settingPrefix + name }

// SettingText returns the text of such a variable: a single value unchanged, or several values as a
// JSON list.
func SettingText(values []string) string {
	if len(values) == 1 && !strings.HasPrefix(values[0], "[") {
		return values[0]
	}
	text, _ := json.Marshal(slices.Concat([]string{}, values)) // strings always marshal
	return string(text)
}

// SettingValues returns the values in the text of such a variable. An empty text has none.
func SettingValues(text string) (values []string) {
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &values) == nil:
		return values
	}
	return []string{text}
}

// FillFrom is like [Program.Fill], but takes the settings from the variables of an entry. It
// returns the other variables.
func (p *Program) FillFrom(env map[string]string) (rest map[string]string, err error) {
	values := map[string][]string{}
	rest = map[string]string{}
	for name, value := range env {
		if setting, is := strings.CutPrefix(name, settingPrefix); is {
			if _, known := p.Config[setting]; known {
				values[setting] = SettingValues(value)
				continue
			}
		}
		rest[name] = value
	}
	return rest, p.Fill(values)
}

// Fill replaces settings in the command line and the environment by the user's values, or else by
// the defaults. An argument or variable that consists of a setting without a value is omitted. A
// setting with several values becomes several arguments; in a variable the values are joined by
// commas.
func (p *Program) Fill(values map[string][]string) error {
	filled := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Config)) {
		setting := p.Config[name]
		value, ok := values[name]
		if !ok {
			value = setting.Defaults()
		}
		if err := setting.check(value); err != nil {
			return fmt.Errorf("setting %q %w", name, err)
		}
		filled[name] = value
	}
	var argv []string
	for _, word := range p.Argv {
		if whole := placeholder().FindStringSubmatch(word); whole != nil && whole[0] == word {
			argv = append(argv, filled[whole[1]]...)
			continue
		}
		argv = append(argv, fillIn(word, filled))
	}
	p.Argv = argv
	for name, value := range p.Env {
		if whole := placeholder().FindStringSubmatch(value); whole != nil && whole[0] == value && len(filled[whole[1]]) == 0 {
			delete(p.Env, name)
			continue
		}
		p.Env[name] = fillIn(value, filled)
	}
	return nil
}

func fillIn(word string, filled map[string][]string) string {
	return placeholder().ReplaceAllStringFunc(word, func(found string) string {
		return strings.Join(filled[placeholder().FindStringSubmatch(found)[1]], ",")
	})
}

// Defaults returns the default values of a setting.
func (s Setting) Defaults() (values []string) {
	var one any
	if json.Unmarshal(s.Default, &one) != nil || one == nil {
		return nil
	}
	list, ok := one.([]any)
	if !ok {
		list = []any{one}
	}
	fill := strings.NewReplacer(homeFolders()...)
	for _, v := range list {
		switch v := v.(type) {
		case string:
			values = append(values, fill.Replace(v))
		case float64:
			values = append(values, strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			values = append(values, strconv.FormatBool(v))
		}
	}
	return values
}

// check returns an error if the values of a setting are invalid.
func (s Setting) check(values []string) error {
	if s.Required && (len(values) == 0 || slices.Contains(values, "")) {
		return errors.New("is required and has no value")
	}
	if len(values) > 1 && !s.Multiple {
		return fmt.Errorf("has %d values and takes one", len(values))
	}
	for _, value := range values {
		if err := s.Check(value); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error if value is invalid for the setting.
func (s Setting) Check(value string) error {
	switch s.Type {
	case "number":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
			bounds := ""
			if s.Min != nil {
				bounds = fmt.Sprintf(" from %v", *s.Min)
			}
			if s.Max != nil {
				bounds += fmt.Sprintf(" to %v", *s.Max)
			}
			return fmt.Errorf("has the value %q, which is not a number%s", value, bounds)
		}
	case "boolean":
		if value != "true" && value != "false" {
			return fmt.Errorf("has the value %q, which is not true or false", value)
		}
	}
	return nil
}
