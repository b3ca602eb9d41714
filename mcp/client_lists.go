package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// maxPages is the maximum number of pages of a list.
const maxPages = 1_000

// Tools lists the server's tools. It requests each page when the caller needs it. The sequence ends
// after an error.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return each[Tool](ctx, c, methodToolsList, "tools")
}

// Resources lists the server's resources; see [Client.Tools].
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return each[Resource](ctx, c, methodResourcesList, "resources")
}

// ResourceTemplates lists the server's resource templates; see [Client.Tools].
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return each[ResourceTemplate](ctx, c, methodTemplatesList, "resourceTemplates")
}

// Prompts lists the server's prompts; see [Client.Tools].
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return each[Prompt](ctx, c, methodPromptsList, "prompts")
}

// each decodes the entries of all pages. It logs and omits an entry that cannot be decoded, so that
// the others remain usable.
func each[T any](ctx context.Context, c *Client, method, list string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for raw, err := range c.List(ctx, method, list) {
			if err != nil {
				yield(nil, err)
				return
			}
			item := new(T)
			if err := schema.DecodeLoose(raw, item); err != nil {
				c.met(ctx, tolerance.EntryLeftOut, method+": "+plaintext.Line(err.Error(), maxFault))
				continue
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// List lists the entries of any list as raw JSON. The parameter list is the name of the array in
// the result. If the server fails to send a page after the first, or repeats a cursor, the sequence
// ends with the pages before it. The Logger then gets a record with [LogBreach].
func (c *Client) List(ctx context.Context, method, list string) iter.Seq2[json.RawMessage, error] {
	return c.ListWith(ctx, method, list, nil)
}

// ListWith is like [Client.List], for a method with further parameters. These are one JSON object,
// or nil.
func (c *Client) ListWith(ctx context.Context, method, list string, params json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		seen := map[[sha256.Size]byte]bool{} // by hash, as a cursor can be long
		var before [sha256.Size]byte         // hash of the previous page's entries
		first, params := params, params
		for page := range maxPages {
			result, err := c.do(ctx, &Request{Method: method, Params: params})
			var body json.RawMessage
			if err == nil {
				body, err = result.Encoded()
			}
			if err != nil {
				if page == 0 || !isServersFault(ctx, err) {
					yield(nil, err)
					return
				}
				c.met(ctx, tolerance.PageFailed, fmt.Sprintf("%s: page %d: %s", method, page+1, plaintext.Line(err.Error(), maxFault)))
				return
			}
			cursor := memberOrNil(body, "nextCursor")
			at, entries := sha256.Sum256(cursor), sha256.Sum256(jsonrpc.Get(body, list))
			repeated := cursor != nil && seen[at]
			if repeated {
				c.met(ctx, tolerance.RepeatedCursor, fmt.Sprintf("%s: page %d", method, page+1))
			}
			if ignored := repeated && entries == before; ignored || !eachOf(body, list, yield) || cursor == nil || repeated {
				return
			}
			seen[at], before = true, entries
			params = jsonrpc.With(orEmptyObject(first), "cursor", cursor)
		}
		c.met(ctx, tolerance.EndlessList, method)
	}
}

// maxFault is the maximum number of characters of an error in the log record about a failed page.
const maxFault = 200

// met records that a tolerance was needed for the server.
func (c *Client) met(ctx context.Context, t tolerance.Tolerance, where string) {
	t.Met(ctx, c.options.logger(), c.options.Name, where)
}

// isServersFault reports whether a request failed because of the server. This is an error or a
// missing response, while the connection continues and the client has access.
func isServersFault(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden && status.Status != http.StatusNotFound
	}
	return errors.As(err, new(*Error)) || errors.As(err, new(*jsonrpc.Error)) || errors.Is(err, loose.ErrNoObject) || errors.Is(err, context.DeadlineExceeded)
}

// eachOf yields the elements of an array in an object. It returns false if yield returned false.
func eachOf(body json.RawMessage, list string, yield func(json.RawMessage, error) bool) bool {
	array := jsonrpc.Get(body, list)
	if len(array) == 0 || array[0] != '[' {
		return true
	}
	more := true
	jsonrpc.EachElement(array, func(value []byte) bool {
		more = yield(value, nil)
		return more
	})
	return more
}

// WatchTools yields the server's tools, and yields them again after each notification of a change,
// until ctx is done. After an error, it continues with the next change. It ends when the
// subscription ends.
func (c *Client) WatchTools(ctx context.Context) iter.Seq2[[]*Tool, error] {
	return func(yield func([]*Tool, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)() // Close ends the watch
		changed := make(chan struct{}, 1)
		signal := func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		ended := make(chan error, 1)
		c.watching.Go(func() {
			ended <- c.ListenWith(ctx, SubscriptionFilter{ToolsListChanged: true}, func(Notification) { signal() }, func(SubscriptionFilter) { signal() })
		})
		for {
			select {
			case <-changed:
				if !yield(c.allTools(ctx)) {
					return
				}
			case err := <-ended:
				if err != nil && ctx.Err() == nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}

func (c *Client) allTools(ctx context.Context) ([]*Tool, error) {
	var tools []*Tool
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}
