package config

import (
	"errors"
)

// maxFiles limits the files of a Set.
const maxFiles = 256

// Set is a list of servers from several files.
type Set struct {
	Files    []*File       // readable files, in the given order
	Servers  []*Definition // one for each name
	Shadowed []Shadowed    // definitions without effect

	owner map[string]string // by name, the file whose definition counts
}

// Shadowed is a definition whose name an earlier file defines.
type Shadowed struct {
	*Definition
	By string // the earlier file
}

// LoadAll reads files and merges them. The first definition of a name counts, even if it is
// disabled or has a problem, so that a fault never lets another server take its place. The Set is
// never nil. The error joins those of unreadable files.
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
		for name := range file.names { // faulty definitions count, too
			if _, taken := set.owner[name]; !taken {
				set.owner[name] = file.Path
			}
		}
	}
	return set, errors.Join(faults...)
}

// Problems returns the problems of all files, except those of definitions without effect.
func (s *Set) Problems() []*Problem {
	return s.counting(func(f *File) []*Problem { return f.Problems })
}

// Warnings returns the warnings of all files, except those of definitions without effect.
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
