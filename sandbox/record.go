package sandbox

import (
	"slices"
	"sync"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

const (
	// maxRecorded is the maximum number of recorded paths, and of recorded hosts, of one program.
	maxRecorded = 20_000
	// maxRecordedBytes is the maximum total length of recorded paths and hosts.
	maxRecordedBytes = 4 << 20
)

// A Record holds the files and hosts that a program and its children used while their accesses were
// recorded. Its methods are safe for concurrent use.
type Record struct {
	mu    sync.Mutex
	files map[string]uses
	hosts map[string]struct{}
	own   []string // the program's own folders
	bytes int
	full  bool
}

// uses is a set of kinds of access to a path.
type uses uint8

func (u uses) has(kinds ...watch.Kind) bool {
	return slices.ContainsFunc(kinds, func(k watch.Kind) bool { return u&(1<<k) != 0 })
}

// Complete reports whether all accesses could be recorded. Missing ones will be refused and
// reported later.
func (r *Record) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.full
}

// belongs sets the program's own folders. It does nothing if r is nil.
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

// seeHost records a host as NAME, or as NAME:PORT if the port is neither 443 nor 80.
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

// A Learned describes how the program of a Record was started.
type Learned struct {
	Words []string // its arguments, and the values of its own variables; paths in them are meant to be used
	Named []string // other texts that name files, such as arguments of calls; the program sees the named paths in temporary folders
	Dir   string   // its working directory
}

// A Proposal is the smallest profile that allows the recorded accesses of a program.
type Proposal struct {
	Profile Profile
	// Omitted lists the accesses that are not in the profile, with reasons.
	Omitted []Omission
}

// An Omission is a path or host that a program used, and about which the user must decide.
type Omission struct {
	Host    string // set in place of Path
	Path    string
	Write   bool
	Missing bool // Path does not exist, and the permission to write would create a folder
	Reason  string
}
