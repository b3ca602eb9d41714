package sandbox

import (
	"slices"
	"sync"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

const (
	// maxRecorded is how many paths, and how many hosts, are recorded of one program.
	maxRecorded = 20_000
	// maxRecordedBytes is how long all of them may be.
	maxRecordedBytes = 4 << 20
)

// A Record is what a program and all that it started used while it was learned from. Its methods are safe for concurrent use.
type Record struct {
	mu    sync.Mutex
	files map[string]uses
	hosts map[string]struct{}
	own   []string // the folders that belong to the program
	bytes int
	full  bool
}

// uses are kinds of use of one path.
type uses uint8

func (u uses) has(kinds ...watch.Kind) bool {
	return slices.ContainsFunc(kinds, func(k watch.Kind) bool { return u&(1<<k) != 0 })
}

// Complete reports whether all could be recorded: what is not, is refused later, and named then.
func (r *Record) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.full
}

// belongs notes which folders are the program's own. It may be called on nil.
func (r *Record) belongs(folders []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = slices.Clone(folders)
}

// see records an access to a file.
func (r *Record) see(a watch.Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Path == "" {
		return
	}
	if r.files == nil {
		r.files = map[string]uses{}
	}
	if _, known := r.files[a.Path]; known || r.fits(len(r.files), a.Path) {
		r.files[a.Path] |= 1 << a.Kind
	}
}

// seeHost records NAME, or NAME:PORT for another port than 443 and 80.
func (r *Record) seeHost(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts == nil {
		r.hosts = map[string]struct{}{}
	}
	if _, known := r.hosts[text]; !known && r.fits(len(r.hosts), text) {
		r.hosts[text] = struct{}{}
	}
}

func (r *Record) fits(count int, text string) bool {
	if count >= maxRecorded || r.bytes+len(text) > maxRecordedBytes {
		r.full = true
		return false
	}
	r.bytes += len(text)
	return true
}

// A Learned is what the program of a Record was started with.
type Learned struct {
	Words []string // its arguments and the values of its own environment: what they name is meant to be used
	Named []string // what else names files, such as the arguments of calls: those in folders for temporary files are there for it, as others are
	Dir   string   // the folder that it was started in
}

// A Proposal is the smallest profile with which a program may do what it was seen to do.
type Proposal struct {
	Profile Profile
	// Omitted is what it used and is not in the profile, with the reason.
	Omitted []Omission
}

// An Omission is a path or host that a program used, and a person has to decide about.
type Omission struct {
	Host    string // in place of a path
	Path    string
	Write   bool
	Missing bool // nothing is there: to write it, if it is allowed, is to write a folder that is made then
	Reason  string
}
