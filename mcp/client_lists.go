package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// maxPages is the longest list that is followed: a server whose cursors never
// end is cut off with an error.
const maxPages = 1_000

// Tools lists the server's tools, page by page as they are asked for. After an
// error the sequence ends.
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

// each decodes the entries of all pages. An entry that cannot be read is logged
// at debug level and left out, so that it does not hide the others.
func each[T any](ctx context.Context, c *Client, method, list string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for raw, err := range c.List(ctx, method, list) {
			if err != nil {
				yield(nil, err)
				return
			}
			item := new(T)
			if err := schema.DecodeLoose(raw, item); err != nil {
				c.options.logger().Debug("mcp: an entry of a list cannot be read", "server", c.options.Name, "method", method, "error", err)
				continue
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// List lists the entries of any list method as raw JSON; list is the name of
// the array in the result.
func (c *Client) List(ctx context.Context, method, list string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		seen := map[[sha256.Size]byte]bool{} // by its hash: a cursor can be long
		var params json.RawMessage
		for range maxPages {
			result, err := c.do(ctx, &Request{Method: method, Params: params})
			if err != nil {
				yield(nil, err)
				return
			}
			body, err := result.Encoded()
			if err != nil {
				yield(nil, err)
				return
			}
			if !eachOf(body, list, yield) {
				return
			}
			cursor := memberOrNil(body, "nextCursor")
			if cursor == nil {
				return
			}
			at := sha256.Sum256(cursor)
			if seen[at] {
				yield(nil, fmt.Errorf("server %q: %s: the cursor %.80s came twice: its pages would never end", c.options.Name, method, cursor))
				return
			}
			seen[at] = true
			w := jsonrpc.NewObject(nil)
			w.Raw("cursor", cursor)
			params = w.Bytes()
		}
		yield(nil, fmt.Errorf("server %q: %s: more than %d pages", c.options.Name, method, maxPages))
	}
}

// eachOf yields the elements of an array in an object; false to stop.
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

// WatchTools yields the server's tools, and again whenever it notifies that they
// changed, until ctx is done. After an error of the list it goes on with the
// next change; it ends when the notifications end.
func (c *Client) WatchTools(ctx context.Context) iter.Seq2[[]*Tool, error] {
	return func(yield func([]*Tool, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)() // Close ends it
		changed := make(chan struct{}, 1)
		signal := func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		ended := make(chan error, 1)
		c.watching.Add(1)
		go func() {
			defer c.watching.Done()
			ended <- c.ListenWith(ctx, SubscriptionFilter{ToolsListChanged: true}, func(Notification) { signal() }, func(SubscriptionFilter) { signal() })
		}()
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
