package config

import (
	"errors"
)

// maxFiles bounds the files of a Set.
const maxFiles = 256

// Set is several files as one list of servers.
type Set struct {
	Files    []*File       // those that could be read, as they were given
	Servers  []*Definition // one for a name
	Shadowed []Shadowed    // definitions that do not count

	owner map[string]string // the file whose definition of a name counts
}

// Shadowed is a definition whose name an earlier file defines.
type Shadowed struct {
	*Definition
	By string // the earlier file
}

// LoadAll reads files and merges them: the first definition of a name counts, even when
// it is disabled or has a problem, so that a fault never puts another server in its
// place. The Set is never nil; the error joins those of files that could not be read.
func LoadAll(paths []string, o Options) (*Set, error) {
	set := &Set{owner: map[string]string{}}
	if len(paths) > maxFiles {
		return set, caused(ErrLimit, "%d configuration files; at most %d can be read", len(paths), maxFiles)
	}
	o = o.withDefaults()
	var faults []error
	for _, path := range paths {
		file, err := Load(path, o)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		set.Files = append(set.Files, file)
		if err := file.findSettings(o); err != nil {
			faults = append(faults, err)
		}
		for _, d := range file.Servers {
			if by, taken := set.owner[d.Name]; taken {
				set.Shadowed = append(set.Shadowed, Shadowed{d, by})
				continue
			}
			set.Servers = append(set.Servers, d)
		}
		for name := range file.names { // those that are defined badly count, too
			if _, taken := set.owner[name]; !taken {
				set.owner[name] = file.Path
			}
		}
	}
	return set, errors.Join(faults...)
}

// Problems are those of all files, without those of definitions that do not count.
func (s *Set) Problems() []*Problem {
	return s.counting(func(f *File) []*Problem { return f.Problems })
}

// Warnings are those of all files, likewise.
func (s *Set) Warnings() []*Problem {
	return s.counting(func(f *File) []*Problem { return f.Warnings })
}

func (s *Set) counting(of func(*File) []*Problem) []*Problem {
	var all []*Problem
	for _, f := range s.Files {
		for _, p := range of(f) {
			if by, defined := s.owner[p.Server]; !defined || by == f.Path {
				all = append(all, p)
			}
		}
	}
	return all
}
