package embeddings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	requestTimeout = 30 * time.Second // limit for one request, in addition to ctx
	maxAnswer      = 16 << 20         // bytes of a response
	maxFault       = 64 << 10         // bytes of an error response
)

// Options configure the endpoint.
type Options struct {
	// BaseURL is the address before /embeddings, for example "http://127.0.0.1:8000/v1". It must be
	// http or https.
	BaseURL string
	// Model is the name of the model; most endpoints require one.
	Model string
	// Key is sent as a bearer token if it is not empty.
	Key string
	// HTTP sends the requests. If it is nil, New makes a client that follows no redirects.
	HTTP *http.Client
}

// Client gets vectors from one endpoint. Create a Client with New. It is safe for concurrent use.
type Client struct {
	address string
	options Options
}

// New returns a Client, or an error that names the invalid option. It sends no request.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("embeddings: BaseURL must be an address that begins with http:// or https://")
	}
	if strings.ContainsAny(o.Key, "\r\n") {
		return nil, errors.New("embeddings: Key must be one line")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/embeddings"
	u.RawPath = ""
	if o.HTTP == nil {
		o.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return &Client{address: u.String(), options: o}, nil
}

// request is the body of a request.
type request struct {
	Model  string   `json:"model,omitzero"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

// answer is the body of a response. Its other members are ignored.
type answer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// Embed returns a vector for each text, in their order. It sends one request for all texts, which
// may take at most 30 seconds.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.post(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	return vectors, nil
}

func (c *Client) post(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := json.Marshal(request{Model: c.options.Model, Input: texts, Format: "float"}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, withoutAddress(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if c.options.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	resp, err := c.options.HTTP.Do(r)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault))
		text := string(data)
		if c.options.Key != "" {
			text = strings.ReplaceAll(text, c.options.Key, "[key]")
		}
		return nil, fmt.Errorf("the endpoint answered %d %s: %s", resp.StatusCode, http.StatusText(resp.StatusCode), plaintext.Line(text, 300))
	}
	return read(resp.Body, len(texts))
}

// withoutAddress removes the address from an error, as the address may contain a key.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// read reads the vectors of n texts from a response.
func read(body io.Reader, n int) ([][]float32, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes; send fewer texts at a time", maxAnswer)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("the answer is not that of an embeddings endpoint: %w", err)
	}
	if len(a.Data) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(a.Data), n)
	}
	out := make([][]float32, n)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil || len(d.Embedding) == 0 {
			return nil, fmt.Errorf("the answer has no vector, or two, for text %d", d.Index)
		}
		out[d.Index] = d.Embedding
	}
	return out, nil
}
