package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Limits of a document.
const (
	maxDocument  = 48 << 20         // total bytes of all files
	maxFiles     = 100              // number of files
	maxRefs      = 16               // length of a chain of references
	documentTime = 60 * time.Second // maximum time to fetch all files
)

// A document is an API description in one or several files.
type document struct {
	main    *file
	version string // "3.0" or "3.1"
	files   map[string]*file
	missing map[string]error // errors of files that could not be read
	read    func(name string) ([]byte, error)
	left    int      // number of bytes that may still be read
	from    *url.URL // URL of the document; nil for a file
	outside bool     // the document came from the internet, and must not refer to private networks
}

// A file is one file of a document. References in it are relative to it.
type file struct {
	name string // path below the folder of the main file, or a URL
	root any
}

// A part is an object in a document, with the file that contains it.
type part struct {
	file *file
	*tree.Object
}

func (p part) at(name string) part { return part{p.file, p.Object.Object(name)} }

// load reads a document from a path or a URL.
func load(ctx context.Context, from string, transport http.RoundTripper) (*document, error) {
	d := &document{files: map[string]*file{}, missing: map[string]error{}, left: maxDocument}
	name := ""
	switch scheme, _, _ := strings.Cut(from, "://"); scheme {
	case "http", "https":
		u, err := url.Parse(from)
		if err != nil || u.Host == "" {
			return nil, errors.New("the URL cannot be read")
		}
		ctx, cancel := context.WithTimeout(ctx, documentTime)
		defer cancel()
		d.from, name, d.outside = u, from, outside.Host(u.Hostname())
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy == nil {
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
				if at, err := netip.ParseAddrPort(c.Conn.RemoteAddr().String()); err == nil && !outside.Address(at.Addr()) {
					d.outside = false // the host is in a private network
				}
			}})
		}
		d.read = func(name string) ([]byte, error) { return fetch(ctx, transport, u, name, d.left) }
	default:
		from, err := filepath.EvalSymlinks(from) // the document's other files are next to the link's target
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(filepath.Dir(from))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		name = filepath.Base(from)
		d.read = func(name string) ([]byte, error) { return readFile(root, name, d.left) }
	}
	main, err := d.open(name)
	if err != nil {
		return nil, err
	}
	d.main = main
	if err := d.checkVersion(); err != nil {
		return nil, err
	}
	d.openAll(main, main.root)
	return d, nil
}

// open returns a file, and reads it at the first use.
func (d *document) open(name string) (*file, error) {
	if f := d.files[name]; f != nil {
		return f, nil
	}
	if len(d.files) >= maxFiles {
		return nil, fmt.Errorf("it consists of more than %d files", maxFiles)
	}
	text, err := d.read(name)
	if err != nil {
		return nil, err
	}
	d.left -= len(text)
	f := &file{name: name}
	if f.root, err = tree.Parse(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.files[name] = f
	return f, nil
}

// openAll reads all files that a value refers to, so that calls need not read any. An unreadable
// file causes an error only where a reference to it is followed.
func (d *document) openAll(f *file, value any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			d.openAll(f, e)
		}
	case *tree.Object:
		if ref := v.Text("$ref"); ref != "" && !strings.HasPrefix(ref, "#") {
			name, _, err := d.locate(f, ref)
			if err == nil && d.files[name] == nil && d.missing[name] == nil {
				other, err := d.open(name)
				if err != nil {
					d.missing[name] = err
				} else {
					d.openAll(other, other.root)
				}
			}
		}
		for _, name := range v.Names() {
			if name != "example" && name != "examples" {
				d.openAll(f, v.Get(name))
			}
		}
	}
}

// locate returns the file name and the JSON Pointer of a reference in f.
func (d *document) locate(f *file, ref string) (name, pointer string, err error) {
	target, pointer, _ := strings.Cut(ref, "#")
	switch {
	case target == "":
		return f.name, pointer, nil
	case d.from != nil:
		base, err := url.Parse(f.name)
		if err != nil {
			return "", "", err
		}
		u, err := base.Parse(target)
		if err != nil || u.Scheme != d.from.Scheme || u.Host != d.from.Host {
			return "", "", fmt.Errorf("$ref %q leads to another origin than the document's: save both documents, and give the file", ref)
		}
		return u.String(), pointer, nil
	}
	if strings.Contains(target, "://") || path.IsAbs(target) {
		return "", "", fmt.Errorf("$ref %q leads out of the folder of the document: save what it refers to there", ref)
	}
	plain, err := url.PathUnescape(target)
	if err != nil {
		return "", "", fmt.Errorf("$ref %q cannot be read", ref)
	}
	return path.Join(path.Dir(f.name), plain), pointer, nil
}

// follow returns p or, if p has a $ref, the target. key identifies the target of a reference, and
// is "" without one.
func (d *document) follow(p part) (target part, key string, err error) {
	for range maxRefs {
		ref := p.Text("$ref")
		if ref == "" {
			return p, key, nil
		}
		name, pointer, err := d.locate(p.file, ref)
		if err != nil {
			return part{}, "", err
		}
		f := d.files[name]
		if f == nil {
			return part{}, "", fmt.Errorf("$ref %q leads to a file that cannot be read: %w", ref, d.missing[name])
		}
		o, ok := lookup(f.root, pointer).(*tree.Object)
		if !ok {
			return part{}, "", fmt.Errorf("$ref %q has no target", ref)
		}
		p, key = part{f, o}, name+"#"+pointer
	}
	return part{}, "", fmt.Errorf("a $ref leads to a $ref more than %d times", maxRefs)
}

// lookup returns the value at a JSON Pointer, or nil if there is none.
func lookup(value any, pointer string) any {
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	if pointer == "" {
		return value
	}
	if pointer[0] != '/' {
		return nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := value.(type) {
		case *tree.Object:
			value = v.Get(token)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// checkVersion sets the version of the document. It returns an error if the version is not
// supported.
func (d *document) checkVersion() error {
	root, ok := d.main.root.(*tree.Object)
	if !ok {
		return errors.New("it is not an OpenAPI document: expected an object")
	}
	if root.Has("swagger") {
		return fmt.Errorf("it uses Swagger %s: convert it to OpenAPI 3 first, with npx swagger2openapi or at https://converter.swagger.io", textOf(root.Get("swagger")))
	}
	version := textOf(root.Get("openapi"))
	switch {
	case strings.HasPrefix(version, "3.0."), version == "3.0":
		d.version = "3.0"
	case strings.HasPrefix(version, "3.1."), version == "3.1", strings.HasPrefix(version, "3.2."):
		d.version = "3.1"
	case version == "":
		return errors.New(`it is not an OpenAPI document: the member "openapi" is missing`)
	default:
		return fmt.Errorf("it uses OpenAPI %q: expected 3.0 or 3.1", version)
	}
	return nil
}

// textOf returns a string, or a number converted to text.
func textOf(value any) string {
	if n, ok := value.(tree.Number); ok {
		return string(n)
	}
	text, _ := value.(string)
	return text
}

// readFile reads a file of at most most bytes in a folder.
func readFile(root *os.Root, name string, most int) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return readAll(f, most)
}

// fetch fetches a file of at most most bytes from the origin of the document.
func fetch(ctx context.Context, transport http.RoundTripper, origin *url.URL, address string, most int) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the URL cannot be read")
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Scheme != origin.Scheme || next.URL.Host != origin.Host || len(via) > maxRefs {
			return fmt.Errorf("it was redirected to %s://%s: give that URL, if it is right", next.URL.Scheme, next.URL.Host)
		}
		return nil
	}}
	response, err := client.Do(r)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // drops the URL with its query
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", r.URL.Host, response.Status)
	}
	return readAll(response.Body, most)
}

func readAll(from io.Reader, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("its files have more than %d bytes", maxDocument)
	}
	return text, err
}
