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
	"path/filepath"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxFaults is the largest number of faults that a report lists. All faults are counted.
const maxFaults = 100

// refusedMember occurs in each line with a count of refusals.
var refusedMember = []byte(`"refused":`)

// A Report is the result of verifying a log.
type Report struct {
	Files       int `json:"files"`
	Lines       int `json:"lines"`
	Checkpoints int `json:"checkpoints"`
	// Refused is the sum of the counts of refused requests.
	Refused int `json:"refused,omitempty"`
	// First and Last are the numbers of the first and last line.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Expired lists the ranges of lines that the log itself removed because of its size or their
	// age, according to one of its lines.
	Expired []Span `json:"expired,omitempty"`
	// Unsigned is the number of lines after the last checkpoint. Without the private key, changes
	// of these lines cannot be detected.
	Unsigned int `json:"unsigned"`
	// Witnessed is the number of the last line that the store of replicas has as an end of the log. It
	// is 0 without a store, or if the store does not know the log.
	Witnessed uint64 `json:"witnessed,omitempty"`
	// Count is the number of faults.
	Count int `json:"faultCount"`
	// Faults lists the first hundred places where the log was changed. It is empty if the log is
	// unchanged.
	Faults []Fault `json:"faults"`
	// OtherKey is set if the log names another key, which alone can be the cause of the faults.
	OtherKey bool `json:"otherKey,omitempty"`
}

// A Fault is a place where a log was changed.
type Fault struct {
	File string
	Line int // line in File, from 1; 0 means the whole file
	What string
}

// String returns FILE:LINE: WHAT.
func (f Fault) String() string {
	switch {
	case f.File == "":
		return f.What
	case f.Line == 0:
		return f.File + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

// MarshalText returns the result of String.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Verify reads a whole log and reports changes: a changed byte; lines that were added, removed,
// repeated or moved; an end that was cut off; or a file that was replaced. It can be called while
// the log is written.
//
// Verify cannot detect that the whole folder was replaced by an older copy of itself. For that, use
// [VerifyWith], or keep checkpoints elsewhere, for example by exporting the log.
func Verify(dir string, k *Key) (*Report, error) {
	return VerifyWith(dir, VerifyOptions{Key: k})
}

// VerifyPublic is like Verify, but needs only the public key. It verifies the log up to its last
// checkpoint, and does not detect lines that were cut off after a checkpoint.
func VerifyPublic(dir string, k ed25519.PublicKey) (*Report, error) {
	return VerifyWith(dir, VerifyOptions{Public: k})
}

// VerifyOptions configure a verification. Either Key or Public is required.
type VerifyOptions struct {
	Key    *Key
	Public ed25519.PublicKey
	// Witnessed are the ends of logs that a store has. They must have been read before. The log must
	// have those of its own id, and those of the folder on the machine with the name Host.
	Witnessed []Witnessed
	Host      string
}

// VerifyWith is like [Verify] or [VerifyPublic], and compares the log with the ends that a store has. If
// there is no log in the folder, but the store has the end of one, that is a fault.
func VerifyWith(dir string, o VerifyOptions) (*Report, error) {
	v := &verification{key: o.Key, public: o.Public, witnessed: o.Witnessed, host: o.Host, digests: map[uint64]digest{}}
	if o.Key != nil {
		v.public = o.Key.Public()
	}
	report, err := verify(dir, v)
	if !errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	if at, err := filepath.Abs(dir); err == nil {
		dir = at
	}
	for _, w := range o.Witnessed {
		if w.Host == o.Host && w.Folder == dir && w.isAuthentic(w.Chain, v.public) {
			v.report.Faults = []Fault{}
			v.report.Witnessed = w.Seq
			v.fault(fmt.Sprintf("the log is missing: the store of the replicas has its line %d, of %s", w.Seq, w.Time.Format(time.RFC3339)))
			return &v.report, nil
		}
	}
	return nil, err
}

// A verification is one pass through a log.
type verification struct {
	key    *Key // nil if only the public key is known
	public ed25519.PublicKey
	report Report

	head     head
	headErr  error
	seenHead bool // whether the last line that the head names was read

	file   string
	number int // number of the current line in the file
	first  line
	prev   line
	open   int  // number of lines since the end of a group
	begins head // beginning of the log according to the last checkpoint

	witnessed []Witnessed
	host      string
	digests   map[uint64]digest // of the lines that ends name

	reported []Span // removed lines according to a line that is not authenticated yet
	gaps     []gap
}

// A gap is a range of missing lines. A later line may report that the log itself removed these.
type gap struct {
	first, last uint64
	next        line // line after the gap
	file        string
	number      int
}

func verify(dir string, v *verification) (*Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer root.Close()
	// The head is read first, because lines may be added during the verification.
	v.report.Faults = []Fault{}
	v.head, v.headErr = readHead(root)
	switch {
	case v.headErr != nil || v.key == nil || v.key.sealHead(&v.head).String() == v.head.MAC:
	case v.head.ofOther(v.key):
		v.report.OtherKey = true
		v.headErr = fmt.Errorf("%s: %w; if that is right, verify it with the public key of that log", headFile, ErrOtherKey)
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
	ends := v.ends(root, dir)
	for _, e := range ends {
		v.digests[e.Seq] = digest{}
	}
	for _, name := range files {
		if err := v.readFile(root, name); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	v.end()
	v.checkEnds(ends)
	return &v.report, nil
}

func (v *verification) readFile(root *os.Root, name string) error {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the log removed the file; otherwise the next line reports a fault
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

// line checks one line. After a fault, it continues from the number and digest of that line, so
// that one change counts as one fault.
func (v *verification) line(text []byte) {
	l, ok := parseLine(text)
	if !ok || text[len(text)-1] != '\n' {
		if v.key == nil || ok {
			v.open++
		}
		v.fault("this is not a complete line of an audit log")
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
	follows := v.report.Lines == 1 || v.prev.digest.follows(l.seq, l.object) == l.digest // only a checkpoint can verify the first line
	switch {
	case l.seq > v.prev.seq+1 && len(v.gaps) < maxFaults:
		v.gaps = append(v.gaps, gap{v.prev.seq + 1, l.seq - 1, l, v.file, v.number})
	case l.seq > v.prev.seq+1:
		v.fault(fmt.Sprintf("line %d follows line %d: %d lines are missing", l.seq, v.prev.seq, l.seq-v.prev.seq-1))
	case l.seq <= v.prev.seq:
		v.fault(fmt.Sprintf("line %d follows line %d: it was repeated or moved", l.seq, v.prev.seq))
	case !follows:
		v.fault("this line, or the line before it, was changed")
	}
	if l.isExpired() {
		var record struct {
			Expired []Span `json:"expired"`
		}
		if json.Unmarshal(l.object, &record) == nil {
			v.reported = record.Expired
		}
	}
	v.open++
	if l.seal != nil && v.key != nil {
		if *l.seal != v.key.seal(l.seq, l.digest) {
			v.fault("its mac does not fit the key: another program wrote it, or another key was used")
		} else {
			v.acceptRemoved()
		}
		v.open = 0
	}
	if _, names := v.digests[l.seq]; names {
		v.digests[l.seq] = l.digest
	}
	if v.headErr == nil && l.seq == v.head.Seq {
		v.seenHead = true
		if l.digest != v.head.digest {
			v.fault("it is not the original line at this place")
		}
	}
	if l.isCheckpoint() {
		v.checkpoint(&l)
	}
	v.prev = l
	v.report.Last = l.seq
}

// checkpoint verifies a signature of all lines before it.
func (v *verification) checkpoint(l *line) {
	var statement struct {
		First     uint64 `json:"first"`
		Before    string `json:"before"`
		Signature string `json:"signature"`
	}
	err := json.Unmarshal(l.object, &statement)
	before, ok := parseDigest(statement.Before)
	if v.report.Lines == 1 && l.seq > 1 { // the lines that it signs were removed, so it cannot be verified alone
		if err == nil && statement.First < l.seq {
			return
		}
		v.prev.digest = before
	}
	signature, b64 := base64.StdEncoding.DecodeString(statement.Signature)
	if err != nil || !ok || b64 != nil || !ed25519.Verify(v.public, appendStatement(nil, v.prev.seq, v.prev.digest, statement.First, before), signature) {
		v.fault("the signature of this checkpoint does not fit the key, or the lines before it")
		return
	}
	v.report.Checkpoints++
	v.report.Unsigned = 0
	v.begins.First, v.begins.before = statement.First, before
	v.acceptRemoved()
}

// acceptRemoved accepts the ranges of removed lines that the previous lines reported, because these
// lines are now authenticated.
func (v *verification) acceptRemoved() {
	if v.reported != nil {
		v.report.Expired, v.reported = v.reported, nil
	}
}

// missing returns the last line of the range first to last that is missing without a report. It
// returns first-1 if the log reported the removal of the whole range and next follows the range.
func (v *verification) missing(first, last uint64, next *line) uint64 {
	for _, s := range v.report.Expired {
		if d, ok := parseDigest(s.Digest); ok && s.Last == last && d.follows(next.seq, next.object) == next.digest {
			return max(first, s.First) - 1
		}
	}
	return last
}

// end checks that the log ends where the head reports, and reports the remaining gaps.
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
			v.fault(fmt.Sprintf("the first lines, %d to %d, are missing", begins.First, last))
		}
	case begins.First == v.first.seq && begins.before.follows(v.first.seq, v.first.object) != v.first.digest:
		v.fault(fmt.Sprintf("the first line, %d, was changed", v.first.seq))
	}
	switch {
	case v.report.OtherKey:
	case v.headErr != nil:
		v.fault(fmt.Sprintf("the end of the log is not known: %v", v.headErr))
	case v.head.Seq > 0 && !v.seenHead:
		v.fault(fmt.Sprintf("line %d, the last one when the log was written, is missing; the last one here is %d", v.head.Seq, v.report.Last))
	}
	if v.key != nil && v.open > 0 {
		v.fault(fmt.Sprintf("the last %d lines are not a complete group: they were added later, or the process ended while it wrote them", v.open))
	}
}

func (v *verification) fault(what string) {
	v.report.Count++
	if len(v.report.Faults) < maxFaults {
		v.report.Faults = append(v.report.Faults, Fault{v.file, v.number, what})
	}
}
