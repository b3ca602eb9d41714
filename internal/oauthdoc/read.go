package oauthdoc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxDocument = 256 << 10 // bytes of a document
	maxWords    = 200       // runes of a server's text that an error contains
)

// ErrNone means that no place has the document.
var ErrNone = errors.New("there is no such document")

// A searchError is the error of a search in several places.
type searchError struct {
	text  string
	cause error
}

// Error returns all places with their errors.
func (e *searchError) Error() string { return e.text }

// Unwrap returns [ErrNone] if no place had the document, and otherwise the faults of the documents
// that were found.
func (e *searchError) Unwrap() error { return e.cause }

// Read reads a document from the first of several places that has it. The function take decodes a
// document. It returns the faults of the document, or ErrNone if the text is another document, such
// as a page for unknown paths; Read then tries the next place. If a place is unreachable, Read
// stops, unless the place only closed the connection. The error of Read contains each place with
// its error.
func Read(ctx context.Context, client *http.Client, places []string, take func(text []byte) error) error {
	e := &searchError{cause: ErrNone}
	var faults []error
	for _, place := range places {
		text, answered, err := get(ctx, client, place)
		if err == nil {
			if err = take(text); err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %w", place, err)
		}
		if e.text != "" {
			e.text += "; "
		}
		e.text += strings.TrimSuffix(err.Error(), ": "+ErrNone.Error())
		if !errors.Is(err, ErrNone) {
			faults = append(faults, err)
		}
		if !answered {
			break
		}
	}
	if len(faults) > 0 {
		e.cause = errors.Join(faults...)
	}
	return e
}

// get reads one place. answered is false if there was no response.
func get(ctx context.Context, client *http.Client, place string) (text []byte, answered bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, true, err
	}
	req.Header.Set("Accept", "application/json")
	response, err := client.Do(req)
	if response != nil {
		defer response.Body.Close()
	}
	if err != nil && response != nil { // a redirect that the client does not follow
		return nil, true, fmt.Errorf("%s: %w", place, cause(err))
	}
	if err != nil {
		return nil, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), fmt.Errorf("%s: %w", place, cause(err))
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch status := response.StatusCode; {
	case err != nil:
		return nil, true, fmt.Errorf("%s: %w", place, err)
	case status >= 400 && status < 500:
		return nil, true, fmt.Errorf("%s: HTTP status %d: %w", place, status, ErrNone)
	case status != http.StatusOK:
		return nil, true, fmt.Errorf("%s: HTTP status %d", place, status)
	case len(text) > maxDocument:
		return nil, true, fmt.Errorf("%s has more than %d KiB", place, maxDocument>>10)
	}
	var object map[string]any
	if Decode(text, &object) != nil {
		kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		return nil, true, fmt.Errorf("%s: a response of type %.60q that is not a JSON object: %w", place, kind, ErrNone)
	}
	if fault := FaultOf(text); fault.Code != "" {
		return nil, true, fmt.Errorf("%s: the error %s: %w", place, plaintext.Line(fault.Code+" "+fault.Description, maxWords), ErrNone)
	}
	return text, true, nil
}

// cause returns an error of an [http.Client] without its URL, which differs from the requested one
// after a redirect.
func cause(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is {
		return failed.Err
	}
	return err
}

// WellKnown returns the places of a document about the URL u. The path of u follows the well-known
// name. Unless pathOnly is set, the place without this path is included as well.
func WellKnown(u *url.URL, name string, pathOnly bool) (places []string) {
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	place := Origin(u) + "/.well-known/" + name
	if path != "" {
		places = append(places, place+path)
	}
	if path == "" || !pathOnly {
		places = append(places, place)
	}
	return places
}

// Issuer returns the places of the metadata of an authorization server (RFC 8414 section 3.1). They
// include the places of OpenID Connect Discovery, one of which has the path of u before the
// well-known name.
func Issuer(u *url.URL) []string {
	places := append(WellKnown(u, "oauth-authorization-server", true), WellKnown(u, "openid-configuration", true)...)
	if own := OpenID(u); !slices.Contains(places, own) {
		places = append(places, own)
	}
	return places
}

// OpenID returns the place of a provider's metadata under OpenID Connect Discovery.
func OpenID(u *url.URL) string {
	return Origin(u) + strings.TrimSuffix(u.EscapedPath(), "/") + "/.well-known/openid-configuration"
}
