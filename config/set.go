package config

import (
	"errors"
)

// maxFiles is the largest number of files in a Set.
const maxFiles = 256

// Set holds the servers of several files.
type Set struct {
	Files    []*File       // readable files, in the given order
	Servers  []*Definition // at most one for each name
	Shadowed []Shadowed    // definitions whose name an earlier file defines

	owner map[string]string // path of the file whose definition counts, by server name
}

// Shadowed is a definition whose name an earlier file defines.
type Shadowed struct {
	*Definition
	By string // the earlier file
}

// LoadAll reads files and merges their servers. The first definition of a name counts, even if it
// is disabled or faulty, so that a fault never lets another server take its place. The Set is never
// nil. The error joins the errors of unreadable files.
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
		for name := range file.names { // includes the names of faulty definitions
			if _, taken := set.owner[name]; !taken {
				set.owner[name] = file.Path
			}
		}
	}
	return set, errors.Join(faults...)
}

// Problems returns the problems of all files, except those of shadowed definitions.
func (s *Set) Problems() []*Problem {
	return s.counting(func(f *File) []*Problem { return f.Problems })
}

// Warnings returns the warnings of all files, except those of shadowed definitions.
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
