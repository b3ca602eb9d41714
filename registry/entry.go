package registry

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound says that no source has a server of that name, or not that version of it.
var ErrNotFound = errors.New("is in no registry that was read")

// Status is what becomes of a version of a server.
type Status string

// The statuses that the registry API has.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// An Entry is a version of a server, with what its registry says of it.
type Entry struct {
	Server        *Server
	Source        string // the name of the Source that it is of
	Status        Status
	StatusMessage string // why it is deprecated or deleted; somebody else's words
	IsLatest      bool
	Published     time.Time // zero where the registry does not say
	Updated       time.Time
	Meta          json.RawMessage // the registry's _meta as it came, with the keys of subregistries; nil if there is none

	// What follows is there of an Entry that [Mirror] returns.

	Versions []Version // of the same source, the newest first, deleted ones too
	Also     []string  // further sources that have a server of this name
}

// A Version is one of the versions of a server.
type Version struct {
	Version   string
	Status    Status
	IsLatest  bool
	Published time.Time
}
