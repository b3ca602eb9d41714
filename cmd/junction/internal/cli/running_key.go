package cli

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
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

const (
	// EntryKeyName is the name of the key file that lets a junction up prove the definitions of its
	// servers. The file is next to the sockets, and is created if it is missing.
	EntryKeyName = "entries.key"
	// EntryKeySize is the size of the key in bytes.
	EntryKeySize = 32
	// EntryPath is the path at the socket of a junction up where commands of this user get the
	// proof for a server.
	EntryPath = "/entries/"
	// entryProofKind is the beginning of the text that a proof authenticates.
	entryProofKind = "junction: the entry of a server that runs"
)

// A Digest is the digest of an entry with its variables replaced. It must stay in memory, because
// values with few possibilities could be guessed from it.
type Digest [sha256.Size]byte

// EntryDigest returns the digest of everything that distinguishes a server: the program or address,
// and the account.
func EntryDigest(p place.Place, e launch.Entry, s *config.Server) (d Digest) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", e.Name, filename.Real(e.Source()), e.Definition.Revision)
	dir := s.Dir
	if launch.IsProgram(s.Kind) {
		dir = p.Real(dir) // an empty Dir is the folder of this process
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

// Proof returns a proof that the process pid runs a server with this digest. Holders of the key can
// verify it.
func (d *Digest) Proof(key []byte, pid int) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s %d ", entryProofKind, pid)
	h.Write(d[:])
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// digests holds the digests of this process's servers, from their last start or call. For a server
// without one, it holds the digest that a start would have. The zero value is empty. It is safe for
// concurrent use.
type digests struct {
	mu sync.Mutex
	by map[string]Digest
}

// Set sets the digest of a server that is being started or called.
func (d *digests) Set(p place.Place, e launch.Entry, s *config.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = map[string]Digest{}
	}
	d.by[e.Name] = EntryDigest(p, e, s)
}

// Expect sets the digest of a server that has not been started or called yet. If an earlier entry
// with the same name may still run, it removes the digest instead.
func (d *digests) Expect(p place.Place, e launch.Entry, s *config.Server) {
	before, some := d.Of(e.Name)
	if !some {
		d.Set(p, e, s)
	} else if before != EntryDigest(p, e, s) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.by, e.Name)
	}
}

// Of returns the digest of the server with the given name.
func (d *digests) Of(name string) (one Digest, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok = d.by[name]
	return one, ok
}

// EntryKey reads the key in a folder. If makes is set, it creates a missing one. The folder and the
// file must be accessible to this user only, and the file must be a regular file.
func EntryKey(folder string, makes bool) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err == nil && !isPrivate(info) {
		err = fmt.Errorf("other users can access %s: restrict it to your user (chmod 700)", folder)
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

// readEntryKey checks the key's file in root and reads the key.
func readEntryKey(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(EntryKeyName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !isPrivate(info) || info.Size() != EntryKeySize {
		return nil, fmt.Errorf("%s must be a file of %d bytes that only your user can read; remove it, and junction makes a new one", filepath.Join(root.Name(), EntryKeyName), EntryKeySize)
	}
	file, err := root.Open(EntryKeyName)
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
	key := make([]byte, EntryKeySize)
	_, err = io.ReadFull(file, key)
	return key, err
}

// makeEntryKey writes a new key to a temporary file and links it to its name. The error is
// [fs.ErrExist] if another process created the file first.
func makeEntryKey(root *os.Root) error {
	key := make([]byte, EntryKeySize)
	rand.Read(key)
	temp := EntryKeyName + "." + rand.Text()
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = root.Remove(temp) }()
	_, err = file.Write(key)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Link(temp, EntryKeyName)
}

// IsDefinedAs reports whether the running server has the same definition as e, including the values
// of variables. known is false if that cannot be determined, or if the entry needs an input.
func (r *RunningServer) IsDefinedAs(ctx context.Context, p place.Place, e launch.Entry) (same, known bool) {
	if launch.NeedsInput(e.Definition) {
		return false, false
	}
	folder, err := StatusFolder(p)
	if err != nil {
		return false, false
	}
	proof, err := r.proof(ctx, folder)
	if err != nil {
		return false, false
	}
	key, err := EntryKey(folder, false) // the other process creates the key
	if err != nil {
		return false, false
	}
	s, err := e.Definition.Resolve(ctx)
	if err != nil {
		return false, true // starting the server reports the error
	}
	d := EntryDigest(p, e, s)
	return hmac.Equal([]byte(proof), []byte(d.Proof(key, r.In.PID))), true
}

// proof requests the proof for the server from the process that runs it.
func (r *RunningServer) proof(ctx context.Context, folder string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://junction"+EntryPath+r.Status.Name, nil)
	if err != nil {
		return "", err
	}
	response, err := SendToProcess(r.socket(folder), req, StatusTimeout)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK { // older versions respond in the same way
		return "", errors.New(response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return strings.TrimSpace(string(text)), err
}
