package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxFaults is how many faults a report names; it counts all.
const maxFaults = 100

// refusedMember is in each line that counts refusals.
var refusedMember = []byte(`"refused":`)

// A Report says whether a log is as it was written.
type Report struct {
	Files       int `json:"files"`
	Lines       int `json:"lines"`
	Checkpoints int `json:"checkpoints"`
	// Refused is how many requests were refused of which lines tell by a count.
	Refused int `json:"refused,omitempty"`
	// First and Last are the numbers of the first and last line.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Expired are the lines that the log removed itself, as they were too many or too old, if one of its lines says so.
	Expired []Span `json:"expired,omitempty"`
	// Unsigned is how many lines stand behind the last checkpoint. Who verifies with the public key
	// cannot know whether those were changed.
	Unsigned int `json:"unsigned"`
	// Count is how many faults there are.
	Count int `json:"faultCount"`
	// Faults are the first hundred places where it is not as it was written; none: it is whole.
	Faults []Fault `json:"faults"`
	// OtherKey says that the log claims to be written with another key: then the faults may be due to that alone.
	OtherKey bool `json:"otherKey,omitempty"`
}

// A Fault is a place where a log is not as it was written.
type Fault struct {
	File string
	Line int // in File, from 1; 0: all of it
	What string
}

// String is FILE:LINE: WHAT.
func (f Fault) String() string {
	switch {
	case f.File == "":
		return f.What
	case f.Line == 0:
		return f.File + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

// MarshalText is its String.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Verify reads all of a log, and says where it was changed: by a byte, by lines that were added,
// removed, repeated or moved, by an end that was cut off, by a file that was replaced. It can be
// called while the log is written.
//
// It cannot find that all of the folder was replaced by an older copy of itself: for that, keep
// checkpoints elsewhere, such as by exporting the log.
func Verify(dir string, k *Key) (*Report, error) {
	return verify(dir, &verification{key: k, public: k.Public()})
}

// VerifyPublic is Verify for those who do not have the key: it trusts the log up to its last
// checkpoint, and does not find that what stood behind one was cut off.
func VerifyPublic(dir string, k ed25519.PublicKey) (*Report, error) {
	return verify(dir, &verification{public: k})
}

// A verification is one pass through a log.
type verification struct {
	key    *Key // nil: with the public key only
	public ed25519.PublicKey
	report Report

	head     head
	headErr  error
	seenHead bool // the line that the head tells of

	file   string
	number int // of the line in the file
	first  line
	prev   line
	open   int  // lines behind the last group that ended
	begins head // where the log begins, as the last checkpoint says

	said []Span // lines that were removed, as a line says that has no seal or signature behind it yet
	gaps []gap
}

// A gap is lines that are not there. Whether the log removed them itself stands further behind.
type gap struct {
	first, last uint64
	next        line // the one behind it
	file        string
	number      int
}

func verify(dir string, v *verification) (*Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer root.Close()
	// The head first: lines that are written meanwhile are behind it.
	v.report.Faults = []Fault{}
	v.head, v.headErr = readHead(root)
	switch {
	case v.headErr != nil || v.key == nil || v.key.sealHead(&v.head).String() == v.head.MAC:
	case v.head.ofOther(v.key):
		v.report.OtherKey = true
		v.headErr = fmt.Errorf("%s says that %w; if that is so, the public key of that one verifies it", headFile, ErrOtherKey)
		v.fault(v.headErr.Error())
	default:
		v.headErr = fmt.Errorf("%s is not authentic", headFile)
	}
	files, err := listFiles(root)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if len(files) == 0 && errors.Is(v.headErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("audit: %s has no log: %w", dir, fs.ErrNotExist)
	}
	for _, name := range files {
		if err := v.readFile(root, name); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	v.end()
	return &v.report, nil
}

func (v *verification) readFile(root *os.Root, name string) error {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile, or that is a fault of the next line
	}
	if err != nil {
		return err
	}
	defer f.Close()
	v.file, v.number = name, 0
	v.report.Files++
	return eachLine(f, func(text []byte, _ int64) error {
		v.number++
		v.line(text)
		return nil
	})
}

// line checks one line. After a fault it continues from the numbers and digest that the line itself has, so that one
// change is one fault.
func (v *verification) line(text []byte) {
	l, ok := parseLine(text)
	if !ok || text[len(text)-1] != '\n' {
		if v.key == nil || ok {
			v.open++
		}
		v.fault("this is no line of a log")
		return
	}
	if v.report.Lines++; v.report.Lines == 1 {
		v.first, v.report.First = l, l.seq
		v.prev.seq = l.seq - 1
	}
	v.report.Unsigned++
	if bytes.Contains(l.object, refusedMember) {
		more, _ := strconv.Atoi(string(jsonrpc.Get(l.object, "refused")))
		v.report.Refused += more
	}
	follows := v.report.Lines == 1 || v.prev.digest.follows(l.seq, l.object) == l.digest // of the first line the last checkpoint tells
	switch {
	case l.seq > v.prev.seq+1 && len(v.gaps) < maxFaults:
		v.gaps = append(v.gaps, gap{v.prev.seq + 1, l.seq - 1, l, v.file, v.number})
	case l.seq > v.prev.seq+1:
		v.fault(fmt.Sprintf("line %d follows line %d: %d lines are missing", l.seq, v.prev.seq, l.seq-v.prev.seq-1))
	case l.seq <= v.prev.seq:
		v.fault(fmt.Sprintf("line %d follows line %d: it was repeated or moved", l.seq, v.prev.seq))
	case !follows:
		v.fault("it is not as it was written, or the line before it is not")
	}
	if l.isExpired() {
		var said struct {
			Expired []Span `json:"expired"`
		}
		if json.Unmarshal(l.object, &said) == nil {
			v.said = said.Expired
		}
	}
	v.open++
	if l.seal != nil && v.key != nil {
		if *l.seal != v.key.seal(l.seq, l.digest) {
			v.fault("its mac is not the key's: it was written by somebody else, or with another key")
		} else {
			v.believe()
		}
		v.open = 0
	}
	if v.headErr == nil && l.seq == v.head.Seq {
		v.seenHead = true
		if l.digest != v.head.digest {
			v.fault("it is not the line that stood here when the log was written")
		}
	}
	if l.isCheckpoint() {
		v.checkpoint(&l)
	}
	v.prev = l
	v.report.Last = l.seq
}

// checkpoint verifies a signature of the lines before it.
func (v *verification) checkpoint(l *line) {
	var said struct {
		First     uint64 `json:"first"`
		Before    string `json:"before"`
		Signature string `json:"signature"`
	}
	err := json.Unmarshal(l.object, &said)
	before, ok := parseDigest(said.Before)
	if v.report.Lines == 1 && l.seq > 1 { // the lines that it signs were removed, and the chain tells of itself
		if err == nil && said.First < l.seq {
			return
		}
		v.prev.digest = before
	}
	signature, b64 := base64.StdEncoding.DecodeString(said.Signature)
	if err != nil || !ok || b64 != nil || !ed25519.Verify(v.public, appendStatement(nil, v.prev.seq, v.prev.digest, said.First, before), signature) {
		v.fault("the signature of this checkpoint is not the key's, or not of the lines before it")
		return
	}
	v.report.Checkpoints++
	v.report.Unsigned = 0
	v.begins.First, v.begins.before = said.First, before
	v.believe()
}

// believe takes over what lines say that are sealed or signed now.
func (v *verification) believe() {
	if v.said != nil {
		v.report.Expired, v.said = v.said, nil
	}
}

// missing returns the last line that is missing of a range that is not there before a line: first-1 if the log says that it
// removed all of them, and what that line follows.
func (v *verification) missing(first, last uint64, next *line) uint64 {
	for _, s := range v.report.Expired {
		if d, ok := parseDigest(s.Digest); ok && s.Last == last && d.follows(next.seq, next.object) == next.digest {
			return max(first, s.First) - 1
		}
	}
	return last
}

// end says what the end of the log tells.
func (v *verification) end() {
	for _, g := range v.gaps {
		if last := v.missing(g.first, g.last, &g.next); last >= g.first {
			v.file, v.number = g.file, g.number
			v.fault(fmt.Sprintf("line %d follows line %d: %d lines are missing", g.next.seq, g.first-1, last-g.first+1))
		}
	}
	v.file, v.number = "", 0
	begins := &v.begins
	switch {
	case begins.First == 0 && v.report.Lines > 0:
		v.fault("it has no checkpoint")
	case begins.First < v.first.seq:
		if last := v.missing(begins.First, v.first.seq-1, &v.first); last >= begins.First {
			v.fault(fmt.Sprintf("lines %d to %d, the first ones, are missing", begins.First, last))
		}
	case begins.First == v.first.seq && begins.before.follows(v.first.seq, v.first.object) != v.first.digest:
		v.fault(fmt.Sprintf("line %d, the first one, is not as it was written", v.first.seq))
	}
	switch {
	case v.report.OtherKey:
	case v.headErr != nil:
		v.fault(fmt.Sprintf("where the log ended is not known: %v", v.headErr))
	case v.head.Seq > 0 && !v.seenHead:
		v.fault(fmt.Sprintf("line %d, the last one when the log was written, is missing; the last one here is %d", v.head.Seq, v.report.Last))
	}
	if v.key != nil && v.open > 0 {
		v.fault(fmt.Sprintf("the last %d lines belong to no group that was written as a whole: they were added, or the process was ended while it wrote them", v.open))
	}
}

func (v *verification) fault(what string) {
	v.report.Count++
	if len(v.report.Faults) < maxFaults {
		v.report.Faults = append(v.report.Faults, Fault{v.file, v.number, what})
	}
}
