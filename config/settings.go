package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/junction-mcp/junction/config/settings"
)

// settingsFile is what a file with settings is called that has them for those next to it.
const settingsFile = "junction.json"

// readSettings keeps the member "junction" for [File.Settings].
func (r *fileReader) readSettings(m member) {
	if m.value.Value.Kind() != '{' {
		r.fail("", m.name, m.value.StartOffset, wrongType("an object", m.value))
		return
	}
	v := m.value.Clone()
	v.Standardize()
	r.file.settings, r.file.line = v.Pack(), r.doc.line(m.at)
}

// readOther notes a setting that stands outside of "junction": a policy must not be ignored without a word.
func (r *fileReader) readOther(m member) {
	if filepath.Base(r.file.Path) == settingsFile && r.file.outside == nil && slices.Contains(settings.Members(), m.name) {
		r.file.outside = &Problem{Source: r.file.Path, Field: m.name, Line: r.doc.line(m.at), Err: fmt.Errorf(`expected under "junction": {"junction": {%q: …}}`, m.name)}
	}
}

// findSettings reads the junction.json next to a file that has no settings itself.
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

// Settings are what the file's member "junction" says, or that of the junction.json next to it; nil without
// either. from is the file that has them. The error is a *Problem.
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
