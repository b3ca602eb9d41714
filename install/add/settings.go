package add

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/registry"
)

// aSetting is the kind of a need that is a setting of a bundle.
const aSetting = "setting"

// settings are what a bundle asks for. What has a default is filled when the bundle is started, so that a newer bundle can have another one.
func (w *addition) settings() (all []registry.Need) {
	if w.program == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.program.Config)) {
		s := w.program.Config[name]
		n := registry.Need{Kind: aSetting, Name: name, Repeated: s.Multiple, Input: registry.Input{
			Description: strings.TrimPrefix(s.Title+": "+s.Description, ": "), IsRequired: s.Required && len(s.Defaults()) == 0, IsSecret: s.Sensitive}}
		switch s.Type {
		case "directory", "file":
			n.Format = "filepath"
		case "boolean":
			n.Choices = []string{"true", "false"}
		}
		all = append(all, n)
	}
	return all
}

// fillSettings are the variables of the entry that hold the settings of a bundle.
func (w *addition) fillSettings(ctx context.Context) (map[string]string, error) {
	env := map[string]string{}
	fill := w.values(ctx)
	for _, n := range w.settings() {
		g, err := fill(n)
		if err != nil {
			return nil, err
		}
		if w.given[n.Name] != nil || len(g.Texts) > 0 {
			env[install.SettingVariable(n.Name)] = install.SettingText(g.Texts)
		} else if values := w.program.Config[n.Name].Defaults(); len(values) > 0 && !n.IsSecret {
			w.fixed = append(w.fixed, "the setting "+n.Name+" = "+strings.Join(values, ", "))
			if n.Format == "filepath" && !w.NoSandbox {
				w.notes = append(w.notes, "it may not read what its author has as "+n.Name+", "+strings.Join(values, ", ")+": --set "+n.Name+"=… gives it what you choose")
			}
		}
	}
	return env, nil
}

// settingPaths are the folders and files that settings of a bundle name, as the person gave them.
func (w *addition) settingPaths() (paths []string) {
	if w.program == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.program.Config)) {
		for _, value := range install.SettingValues(w.written.Env[install.SettingVariable(name)]) {
			if slices.Contains(w.typed, value) {
				paths = append(paths, value)
			}
		}
	}
	return paths
}

// shownProgram is the program as it is started, with the settings of a bundle in it; of secret ones their reference.
func (w *addition) shownProgram() []string {
	p := &install.Program{Argv: slices.Clone(w.locked.Program), Config: map[string]install.Setting{}}
	if w.program != nil {
		for name, s := range w.program.Config {
			s.Type = "string" // a reference is no number
			p.Config[name] = s
		}
	}
	if _, err := p.FillFrom(w.written.Env); err != nil { // which its start says
		return w.locked.Program
	}
	return p.Argv
}
