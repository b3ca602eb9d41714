package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	fetchTime      = 5 * time.Minute  // for one answer of a registry, or one archive
	headersTimeout = 30 * time.Second // until a server begins to answer
	maxIndex       = 64 << 20         // bytes of what a registry says of one package
	maxWords       = 300              // bytes of what a registry or an author says that are shown
)

// newWeb is the client for what no package manager fetches. It obeys the proxy of the environment.
func newWeb() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headersTimeout
	return &http.Client{Transport: transport, Timeout: fetchTime, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) >= 10 {
			return errors.New("redirects ten times")
		}
		if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("redirects from https to http")
		}
		return nil
	}}
}

// checkAddress reports whether an address can be one of a registry or an archive: https, or on this machine.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("has an address of a registry or an archive that is not one")
	}
	if u.User != nil {
		return fmt.Errorf("%s has a password in it, which would stand in the lock: use the package manager's own login", u.Redacted())
	}
	if u.Scheme == "https" || u.Scheme == "http" && outside.IsHere(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not https, so anybody on the way could change what comes", u.Redacted())
}

// get asks for an address. The body must be closed.
func get(ctx context.Context, web *http.Client, address, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		err := fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
		if response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, err
	}
	return response, nil
}

// getJSON asks for an address and decodes the answer.
func getJSON(ctx context.Context, web *http.Client, address, accept string, into any) error {
	response, err := get(ctx, web, address, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxIndex+1))
	if err != nil {
		return err
	}
	if len(text) > maxIndex {
		return fmt.Errorf("%s answers with more than %d bytes", response.Request.URL.Redacted(), maxIndex)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", response.Request.URL.Redacted(), err)
	}
	return nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

// writeJSON writes a file that its folder's owner alone reads.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// oneLine makes what others wrote one line of an error or a table.
func oneLine(s string) string {
	return plaintext.Beginning(plaintext.Clean(strings.Join(strings.Fields(s), " ")), maxWords)
}
