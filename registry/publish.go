package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// Encode is the server.json: the members of s, then those of rest, an object, that s has no place for. What is _meta there stays.
func (s *Server) Encode(rest json.RawMessage) (json.RawMessage, error) {
	text, err := schema.Encode(nil, s)
	if err != nil {
		return nil, err
	}
	known, fault := jsonrpc.Index(text, jsonrpc.Limits{})
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	w := jsonrpc.NewObject(nil)
	for name, value := range known.All() {
		w.Raw(name, value)
	}
	if len(rest) == 0 {
		return w.Bytes(), nil
	}
	further, fault := jsonrpc.Index(rest, jsonrpc.Limits{})
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	own := []string{"$schema", "name", "title", "description", "version", "repository", "websiteUrl", "packages", "remotes"}
	for name, value := range further.All() {
		if !slices.Contains(own, name) {
			w.Raw(name, value)
		}
	}
	return w.Bytes(), nil
}

// Publish publishes a version of a server; server is a server.json. The client's token says who does. It is sent once: whether a
// registry that did not answer has published it, Version tells.
func (c *Client) Publish(ctx context.Context, server json.RawMessage) (*Entry, error) {
	if c.options.Token == nil {
		return nil, fmt.Errorf("registry %s: %w: there is none", c, ErrToken)
	}
	body, err := c.once(ctx, http.MethodPost, "/publish", nil, server)
	if err != nil {
		return nil, err
	}
	e, err := parseEntry(body)
	if err != nil {
		return nil, fmt.Errorf("registry %s %w: %w", c, ErrGarbage, err)
	}
	return e, nil
}

// LoginGitHub gets a token of the registry for a user of GitHub, who publishes names that begin with io.github.USER. It is valid for minutes.
func (c *Client) LoginGitHub(ctx context.Context, token string) (string, error) {
	w := jsonrpc.NewObject(nil)
	w.String("github_token", token)
	body, err := c.once(ctx, http.MethodPost, "/auth/github-at", nil, w.Bytes())
	if err != nil {
		return "", err
	}
	given, ok := jsonrpc.Unquote(jsonrpc.Get(body, "registry_token"))
	if !ok || given == "" {
		return "", fmt.Errorf("registry %s %w: there is no registry_token", c, ErrGarbage)
	}
	return given, nil
}
