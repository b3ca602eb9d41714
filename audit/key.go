package audit

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A Key signs a log. Its owner can write a log that verifies, so only the logging process should
// have it. It is safe for concurrent use.
type Key struct {
	private ed25519.PrivateKey
	id      string // identifies the key; not secret

	mu   sync.Mutex
	mac  hash.Hash // authenticates groups of lines, the head and the ledger
	text []byte    // buffer for the input of mac
}

// NewKey makes a key from 32 random bytes, which may come from a keyring.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("audit: a key has %d bytes, got %d", ed25519.SeedSize, len(seed))
	}
	mac, err := hkdf.Key(sha256.New, seed, nil, "junction audit: groups of lines", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	k := &Key{private: ed25519.NewKeyFromSeed(seed), mac: hmac.New(sha256.New, mac)}
	sum := sha256.Sum256(k.Public())
	k.id = hex.EncodeToString(sum[:8])
	return k, nil
}

// ReadKey reads the key of an installation from a file. If the file is missing, ReadKey creates it
// with access for its owner only. Two processes that create it at the same time get the same key.
func ReadKey(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("audit: the key: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("audit: %s holds no key: expected %d bytes in base64; what was signed with the key that it held can be verified with the public key only", path, ed25519.SeedSize)
	}
	return NewKey(seed)
}

// makeKey writes a new key to a temporary file and links it to path. If path exists by then,
// makeKey returns the key there.
func makeKey(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	text := []byte(base64.StdEncoding.EncodeToString(seed) + "\n")
	temp := path + "." + rand.Text()
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return text, os.Rename(temp, path) // this file system has no links
		}
		return os.ReadFile(path)
	}
	return text, nil
}

// Public returns the public key. Anyone can verify checkpoints with it; see [ParsePublic].
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// FormatPublic returns a public key in base64.
func FormatPublic(k ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(k) }

// ParsePublic parses the result of FormatPublic.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("audit: expected a public key of %d bytes in base64, got %.20q", ed25519.PublicKeySize, text)
	}
	return key, nil
}

// A digest is the hash of a line and of all lines before it.
type digest [sha256.Size]byte

// String returns the digest as lines contain it.
func (d digest) String() string { return string(d.append(nil)) }

func (d *digest) append(dst []byte) []byte { return base64.RawURLEncoding.AppendEncode(dst, d[:]) }

// digestSize is the length of a digest's text.
const digestSize = 43

func parseDigest(text string) (d digest, ok bool) {
	if len(text) != digestSize {
		return d, false
	}
	n, err := base64.RawURLEncoding.Strict().Decode(d[:], []byte(text))
	return d, err == nil && n == len(d)
}

// follows returns the digest of the line seq after a line with digest d. Copying the line is cheap
// because it has little more than maxLine bytes at most.
func (d digest) follows(seq uint64, object []byte) digest {
	all := append(make([]byte, 0, 1<<10), d[:]...)
	all = binary.BigEndian.AppendUint64(all, seq)
	return sha256.Sum256(append(all, object...))
}

// seal returns the MAC for the end of a group of lines.
func (k *Key) seal(seq uint64, d digest) digest { return k.sealed("group", seq, d, 0, digest{}) }

// sealHead returns the MAC for a head.
func (k *Key) sealHead(h *head) digest {
	return k.sealed("head", h.Seq, h.digest, h.First, h.before)
}

func (k *Key) sealed(what string, seq uint64, d digest, first uint64, before digest) digest {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = appendStatement(append(k.text[:0], what...), seq, d, first, before)
	return k.authenticate()
}

// authenticated returns the MAC of a text. The argument what is the purpose of the text, and the
// MAC covers it too.
func (k *Key) authenticated(what string, text []byte) digest {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(append(k.text[:0], what...), text...)
	return k.authenticate()
}

// authenticate returns the MAC of k.text. The caller holds the lock.
func (k *Key) authenticate() digest {
	k.mac.Reset()
	k.mac.Write(k.text)
	k.text = k.mac.Sum(k.text[:0])
	return digest(k.text)
}

// appendStatement appends the text that a checkpoint signs. The text states that the line seq has
// the digest d. It also states that the log begins with the line first, whose preceding line has
// the digest before.
func appendStatement(dst []byte, seq uint64, d digest, first uint64, before digest) []byte {
	s := append(dst, "junction audit 1\n"...)
	s = binary.BigEndian.AppendUint64(s, seq)
	s = append(s, d[:]...)
	s = binary.BigEndian.AppendUint64(s, first)
	return append(s, before[:]...)
}
