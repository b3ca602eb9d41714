package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/tailscale/hujson"
)

// settingsFile is the name of a file with the settings of the other files in its folder.
const settingsFile = "junction.json"

// readSettings stores the member "junction" for [File.Settings].
func (r *fileReader) readSettings(m member) {
	if m.value.Value.Kind() != '{' {
		r.fail("", m.name, m.value.StartOffset, wrongType("an object", m.value))
		return
	}
	v := m.value.Clone()
	v.Standardize()
	r.file.settings, r.file.line = v.Pack(), r.doc.line(m.at)
}

// readOther records an error if m is a setting outside of "junction" in a junction.json. Otherwise
// a policy there would have no effect, without a warning.
func (r *fileReader) readOther(m member) {
	if filepath.Base(r.file.Path) == settingsFile && r.file.outside == nil && slices.Contains(settings.Members(), m.name) {
		r.file.outside = &Problem{Source: r.file.Path, Field: m.name, Line: r.doc.line(m.at), Err: fmt.Errorf(`expected under "junction": {"junction": {%q: …}}`, m.name)}
	}
}

// findSettings sets f.nextTo to the junction.json in the same folder, unless f has settings itself.
func (f *File) findSettings(o Options) error {
	if f.settings != nil || filepath.Base(f.Path) == settingsFile {
		return nil
	}
	nextTo, err := Load(filepath.Join(filepath.Dir(f.Path), settingsFile), o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (nextTo.settings != nil || nextTo.outside != nil) {
		f.nextTo = nextTo
	}
	return err
}

// Settings returns the settings in the file's member "junction", or in the junction.json of the
// same folder. It returns nil settings if neither has any. from is the file with the settings. The
// error is a *Problem.
func (f *File) Settings() (s *settings.Settings, from *File, err error) {
	if from = f; f.nextTo != nil {
		from = f.nextTo
	}
	switch {
	case from.outside != nil:
		return nil, from, from.outside
	case from.settings == nil:
		return nil, nil, nil
	}
	s, err = settings.Parse(from.settings)
	if err != nil {
		return nil, from, &Problem{Source: from.Path, Field: "junction", Line: from.line, Err: err}
	}
	s.Locate(filepath.Dir(from.Path))
	return s, from, nil
}

// SettingLine returns the line of a setting in the file, by its names from the outermost on. It
// returns 0 if the file does not have it.
func (f *File) SettingLine(path ...string) int {
	v, err := hujson.Parse(f.settings)
	if err != nil {
		return 0 // the file has no settings
	}
	pointer := ""
	for _, name := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	found := v.Find(pointer)
	if found == nil {
		return 0
	}
	return f.line + bytes.Count(f.settings[:found.StartOffset], []byte("\n"))
}
