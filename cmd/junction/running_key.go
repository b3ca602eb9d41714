package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

const (
	// entryKeyName is the file of the key, among the sockets, with which a junction up proves how its servers are defined. Where it is
	// removed, another one is made.
	entryKeyName = "entries.key"
	entryKeySize = 32
	// entryPath is where a junction up tells commands of this user, at its socket, the proof for a server.
	entryPath = "/entries/"
	// entryProofKind begins what is authenticated.
	entryProofKind = "junction: the entry of a server that runs"
)

// A digest is of an entry with its variables replaced. It is kept in memory only: what has few values could be found out from it.
type digest [sha256.Size]byte

// digestOf is the digest of all that makes another server of an entry: what is started or called, and for which account.
func digestOf(p place.Place, e entry, s *config.Server) (d digest) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", e.name, filename.Real(e.source()), e.definition.Revision)
	dir := s.Dir
	if launch.IsProgram(s.Kind) {
		dir = p.Real(dir) // without one it starts where the process is
	}
	fmt.Fprintf(h, " %q %q %q %q %q %q %q %q", s.Kind.String(), s.Command, s.Args, s.Env, s.Unset, dir, s.URL, s.Headers)
	if o := s.OAuth; o != nil {
		fmt.Fprintf(h, " oauth %q %q %q %q %q %q %d %q", o.ClientID, o.ClientSecret, o.KeyFile, o.Scopes, o.Grant, o.AssertionFile, o.CallbackPort, o.Hosts)
		fmt.Fprintf(h, " %q %q %q %q %q %q", o.Document, o.IdentityProvider, o.IdentityClientID, o.IdentityClientSecret, o.Issuer, o.Audience)
	}
	if t := s.TLS; t != nil {
		fmt.Fprintf(h, " tls %q %q %q", t.CertFile, t.KeyFile, t.CAFile)
	}
	h.Sum(d[:0])
	return d
}

// proof shows those who have the key that the process pid has a server of such an entry.
func (d *digest) proof(key []byte, pid int) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s %d ", entryProofKind, pid)
	h.Write(d[:])
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// digests are those of the servers of this process as they were started or called last, or would be now. The zero value has none.
type digests struct {
	mu sync.Mutex
	by map[string]digest
}

func (d *digests) set(p place.Place, e entry, s *config.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = map[string]digest{}
	}
	d.by[e.name] = digestOf(p, e, s)
}

// expect has the digest of a server that was neither started nor called yet. Where one of that name was, by another entry, it may run
// still: there is none until the next one is reached.
func (d *digests) expect(p place.Place, e entry, s *config.Server) {
	before, some := d.of(e.name)
	if !some {
		d.set(p, e, s)
	} else if before != digestOf(p, e, s) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.by, e.name)
	}
}

func (d *digests) of(name string) (one digest, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok = d.by[name]
	return one, ok
}

// entryKey reads the key in a folder, which is made if that is wanted. Neither the folder nor the file may be anybody else's, or open to
// others, and the file must be no link.
func entryKey(folder string, makes bool) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err == nil && !isPrivate(info) {
		err = fmt.Errorf("%s is not this user's alone: remove what others may do there (chmod 700)", folder)
	}
	if err != nil {
		return nil, err
	}
	key, err := readEntryKey(root)
	if makes && errors.Is(err, fs.ErrNotExist) {
		if err = makeEntryKey(root); err == nil || errors.Is(err, fs.ErrExist) {
			key, err = readEntryKey(root)
		}
	}
	return key, err
}

func readEntryKey(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(entryKeyName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !isPrivate(info) || info.Size() != entryKeySize {
		return nil, fmt.Errorf("%s is not a file of %d bytes for this user alone: remove it, and a new one is made", filepath.Join(root.Name(), entryKeyName), entryKeySize)
	}
	file, err := root.Open(entryKeyName)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = errors.New("the file was replaced while it was read")
	}
	if err != nil {
		return nil, err
	}
	key := make([]byte, entryKeySize)
	_, err = io.ReadFull(file, key)
	return key, err
}

// makeEntryKey writes a new key, which gets its name when it is whole. The error is [fs.ErrExist] where another process was faster.
func makeEntryKey(root *os.Root) error {
	key := make([]byte, entryKeySize)
	rand.Read(key)
	temp := entryKeyName + "." + rand.Text()
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = root.Remove(temp) }()
	_, err = file.Write(key)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Link(temp, entryKeyName)
}

// tellProof answers with the proof for a server; 404 where there is none.
func (v *served) tellProof(w http.ResponseWriter, r *http.Request) {
	d, ok := v.app.digests.of(r.PathValue("name"))
	if !ok {
		reply.Error(w, http.StatusNotFound, errors.New("no server of this name is defined here"))
		return
	}
	folder, err := statusFolder(v.app.Place)
	var key []byte
	if err == nil {
		key, err = entryKey(folder, true)
	}
	if err != nil {
		v.app.logger().Debug("commands use only servers whose entries are shown as a whole", "error", err)
		reply.Error(w, http.StatusNotFound, err)
		return
	}
	_, _ = io.WriteString(w, d.proof(key, os.Getpid()))
}

// isDefinedAs reports whether the server there is of an entry as it is here, with all its variables. known is false where that cannot be
// proved, and for an entry for which a person would have to be asked.
func (r *runningServer) isDefinedAs(ctx context.Context, p place.Place, e entry) (same, known bool) {
	if needsInput(e.definition) {
		return false, false
	}
	folder, err := statusFolder(p)
	if err != nil {
		return false, false
	}
	proof, err := r.proof(ctx, folder)
	if err != nil {
		return false, false
	}
	key, err := entryKey(folder, false) // that process makes it
	if err != nil {
		return false, false
	}
	s, err := e.definition.Resolve(ctx)
	if err != nil {
		return false, true // who starts it says why
	}
	d := digestOf(p, e, s)
	return hmac.Equal([]byte(proof), []byte(d.proof(key, r.in.PID))), true
}

// proof asks for the proof for the server.
func (r *runningServer) proof(ctx context.Context, folder string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://junction"+entryPath+r.status.Name, nil)
	if err != nil {
		return "", err
	}
	response, err := askProcess(r.socket(folder), req, statusTime)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK { // of an older junction, too
		return "", errors.New(response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return strings.TrimSpace(string(text)), err
}
