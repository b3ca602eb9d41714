package up

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxRevoked is the largest size of a file of revoked certificates in bytes.
const maxRevoked = 64 << 20

// maxSerial is the largest size of a serial number in bytes (RFC 5280 section 4.1.2.2).
const maxSerial = 20

// crlType is the type of a PEM block with a certificate revocation list.
const crlType = "X509 CRL"

// Object identifiers of extensions (RFC 5280 sections 5.2 and 5.3).
const (
	oidPoint  = "2.5.29.28" // issuing distribution point: it does not change the meaning of entries without oidIssuer
	oidIssuer = "2.5.29.29" // certificate issuer of an entry
)

// A revocation is a set of revoked certificates. The zero value is empty.
type revocation struct {
	byIssuer map[string]bool // issuer in DER and serial number, of revocation lists
	serials  map[string]bool // serial numbers of a list in text, of any issuer
	sums     map[string]bool // SHA-1 and SHA-256 of certificates
	ends     time.Time       // when the first of the revocation lists should have been replaced; zero without one
}

// readRevoked reads a file of revoked certificates. It has either certificate revocation lists, in
// PEM or DER, that the authorities signed, or lines of text as [revocation.addLine] reads them.
func readRevoked(path string, authorities []*x509.Certificate) (r revocation, err error) {
	text, err := filename.ReadAtMost(path, maxRevoked)
	if err != nil {
		return r, err
	}
	r = revocation{map[string]bool{}, map[string]bool{}, map[string]bool{}, time.Time{}}
	switch {
	case bytes.Contains(text, []byte("-----BEGIN")):
		for rest := text; ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				if len(bytes.TrimSpace(rest)) > 0 {
					return r, errors.New("after its PEM blocks there is other text")
				}
				return r, nil
			}
			if block.Type != crlType {
				return r, fmt.Errorf("expected blocks of the type %s, got %.40q", crlType, block.Type)
			}
			if err := r.add(block.Bytes, authorities); err != nil {
				return r, err
			}
		}
	case len(text) > 1 && text[0] == 0x30 && text[1] >= 0x80: // a long sequence in DER, and no text that begins with 0
		return r, r.add(text, authorities)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := r.addLine(line); err != nil {
			return r, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return r, nil
}

// addLine adds the certificates that a line names by a serial number or a fingerprint in
// hexadecimal. A name before it, as openssl prints (serial=01, SHA256 Fingerprint=AA:BB) or as in
// sha1:aabb, tells which. Without it, 20 bytes are a serial number or a SHA-1: certificates with
// either are revoked.
func (r *revocation) addLine(line string) error {
	name, digits := "", strings.ToLower(line)
	if at := strings.LastIndexByte(digits, '='); at >= 0 {
		name, digits = digits[:at], digits[at+1:]
	} else if before, after, found := strings.Cut(digits, ":"); found && slices.Contains([]string{"serial", "sha1", "sha256"}, before) {
		name, digits = before, after
	}
	digits = strings.ReplaceAll(strings.TrimSpace(digits), ":", "")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	value, err := hex.DecodeString(digits)
	isSerial, size := strings.Contains(name, "serial"), 0
	switch {
	case strings.Contains(name, "sha1"):
		size = sha1.Size
	case strings.Contains(name, "sha256"):
		size = sha256.Size
	case strings.Contains(name, "fingerprint"):
		return fmt.Errorf("expected a serial number, a SHA-1 or a SHA-256, got %.80q", line)
	}
	switch n := len(value); {
	case err != nil, n == 0, size > 0 && n != size, n > maxSerial && (n != sha256.Size || isSerial):
		return fmt.Errorf("expected a serial number or a SHA-256 in hexadecimal, such as serial:01, sha1:… or sha256:…, got %.80q", line)
	case size == 0 && n <= maxSerial:
		r.serials[string(bytes.TrimLeft(value, "\x00"))] = true
	}
	if n := len(value); !isSerial && (n == sha1.Size || n == sha256.Size) {
		r.sums[string(value)] = true
	}
	return nil
}

// add adds a certificate revocation list.
func (r *revocation) add(der []byte, authorities []*x509.Certificate) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(authorities, func(a *x509.Certificate) bool { return list.CheckSignatureFrom(a) == nil }) {
		return fmt.Errorf("none of the authorities of clients signed the revocation list of %.200q", list.Issuer)
	}
	for _, e := range list.Extensions {
		if id := e.Id.String(); e.Critical && id != oidPoint {
			return fmt.Errorf("the revocation list of %.200q has the critical extension %s, which junction does not know", list.Issuer, id)
		}
	}
	for _, one := range list.RevokedCertificateEntries {
		for _, e := range one.Extensions {
			if id := e.Id.String(); e.Critical || id == oidIssuer {
				return fmt.Errorf("the revocation list of %.200q has an entry with the extension %s, which junction does not know", list.Issuer, id)
			}
		}
		r.byIssuer[string(list.RawIssuer)+"\x00"+string(one.SerialNumber.Bytes())] = true
	}
	if !list.NextUpdate.IsZero() && (r.ends.IsZero() || list.NextUpdate.Before(r.ends)) {
		r.ends = list.NextUpdate
	}
	return nil
}

// has reports whether a certificate is revoked.
func (r *revocation) has(c *x509.Certificate) bool {
	serial := string(c.SerialNumber.Bytes())
	long, short := sha256.Sum256(c.Raw), sha1.Sum(c.Raw)
	return r.byIssuer[string(c.RawIssuer)+"\x00"+serial] || r.serials[serial] || r.sums[string(long[:])] || r.sums[string(short[:])]
}

// refuses reports whether all chains of a client have a revoked certificate.
func (r *revocation) refuses(chains [][]*x509.Certificate) bool {
	if len(r.byIssuer)+len(r.serials)+len(r.sums) == 0 {
		return false
	}
	return !slices.ContainsFunc(chains, func(chain []*x509.Certificate) bool { return !slices.ContainsFunc(chain, r.has) })
}

// revoked reports whether the client of a request has a revoked certificate.
func (c *Certificate) revoked(r *http.Request) bool {
	if c.Revoked == "" || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return false
	}
	_, _ = c.Config(nil) // reads a changed file; cannot fail, because it has succeeded before
	c.mu.Lock()
	now := c.refused
	c.mu.Unlock()
	return now.refuses(r.TLS.VerifiedChains)
}

// WithoutRevoked returns a handler that refuses the requests of clients whose certificate is
// revoked, also on connections from before, and closes these connections. All other requests reach
// next.
func (c *Certificate) WithoutRevoked(next http.Handler, log func() *audit.Log) http.Handler {
	if c.Revoked == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.revoked(r) {
			next.ServeHTTP(w, r)
			return
		}
		name := plaintext.Line(r.TLS.VerifiedChains[0][0].Subject.CommonName, 200)
		if log != nil && log() != nil {
			_ = log().AdminByAnyone(&audit.Record{Event: audit.EventLogin, Outcome: outcomeError, Principal: name, Rule: "client certificate", Reason: "the certificate is revoked"}, hostOf(r.RemoteAddr)) // the log reports why it cannot be written
		}
		w.Header().Set("Connection", "close")
		http.Error(w, "the certificate of this client is revoked", http.StatusForbidden)
	})
}
