package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxModels     = 2_000   // of one provider
	maxModelsBody = 8 << 20 // bytes of a provider's list
)

// Listed is a model as its provider lists it.
type Listed struct {
	Name   string // safe to print
	Title  string // for people; empty: none
	Window int    // how many tokens it sees at a time; 0: not known
}

// listed is a model on the wire. How the context is called differs.
type listed struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Length      int    `json:"context_length"`
	Window      int    `json:"context_window"`
	MaxLength   int    `json:"max_model_len"`
	Loaded      int    `json:"max_context_length"`
}

// ListURL is where the provider lists its models, below the URL at which it is.
func (p Provider) ListURL(base string) (string, error) {
	path, query, _ := strings.Cut(p.wire.models, "?")
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u = u.JoinPath(path)
	if query != "" {
		u.RawQuery = query
	}
	return u.String(), nil
}

// List asks the provider for the models that answer questions, at its ListURL. No redirect is followed, so that the key goes nowhere else.
func (p Provider) List(ctx context.Context, at, key string) ([]Listed, error) {
	fail := func(err error) error { return fmt.Errorf("the models of %s: %w", p.Name, err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fail(errors.New("the base URL is not one"))
	}
	p.wire.header(req.Header, key)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // which address it is the user knows; it may hold a secret
		}
		return nil, fail(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fail(fmt.Errorf("status %d", res.StatusCode))
	}
	var answer struct {
		Data []listed `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxModelsBody)).Decode(&answer); err != nil {
		return nil, fail(errors.New("the list is not JSON as expected"))
	}
	return p.talking(answer.Data), nil
}

// talking are the models that answer questions, in an order to find them in.
func (p Provider) talking(all []listed) (models []Listed) {
	others := []string{"embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "imagen", "veo-", "sora", "rerank"}
	for _, m := range all {
		name := strings.TrimPrefix(m.ID, "models/") // as Gemini lists them
		if name != "" && name == plaintext.Line(name, 200) && !slices.ContainsFunc(others, func(word string) bool { return strings.Contains(name, word) }) {
			models = append(models, Listed{name, m.DisplayName, cmp.Or(m.Length, m.Window, m.MaxLength, m.Loaded)})
		}
	}
	if !p.wire.newestFirst {
		slices.SortFunc(models, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	}
	return models[:min(len(models), maxModels)]
}
