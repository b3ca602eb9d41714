package everything

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

const (
	textURI        = "everything://text"
	pictureURI     = "everything://picture.png"
	planetTemplate = "everything://planets/{name}"
	resourceText   = "This is the text of a resource."
)

// A planet is the content of a resource that matches the template.
type planet struct {
	Name  string `json:"name"`
	Moons int    `json:"moons"`
}

func planets() map[string]planet {
	all := map[string]planet{}
	for _, p := range []planet{{"mercury", 0}, {"venus", 0}, {"earth", 1}, {"mars", 2}, {"jupiter", 97}, {"saturn", 274}, {"uranus", 28}, {"neptune", 16}} {
		all[p.Name] = p
	}
	return all
}

// textResource returns the description of the text resource.
func textResource() mcp.Resource {
	return mcp.Resource{
		URI: textURI, Name: "text", Title: "Text", MIMEType: "text/plain", Size: new(int64(len(resourceText))), Icons: icons(),
		Description: "A short text that never changes.", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser, mcp.RoleAssistant}, Priority: new(0.5)},
	}
}

// addResources registers resources that never change.
func addResources(s *mcp.Server) {
	s.AddText(textResource(), resourceText)
	s.AddResource(mcp.Resource{
		URI: pictureURI, Name: "picture", Title: "Picture", MIMEType: "image/png", Size: new(int64(len(picture()))),
		Description: "A blue disc: a resource of bytes.",
	}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.BlobContents(uri, "image/png", picture())}}, nil
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: planetTemplate, Name: "planet", Title: "Planet", MIMEType: "application/json",
		Description: "A planet of the solar system by its English name in lower case, such as everything://planets/mars.",
	}, readPlanet)
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefResource, URI: planetTemplate},
		func(_ context.Context, req mcp.CompletionRequest) (*mcp.Completion, error) {
			return startingWith(req.Argument.Value, slices.Sorted(maps.Keys(planets()))), nil
		})
}

func readPlanet(_ context.Context, uri string, variables map[string]string) (*mcp.ReadResourceResult, error) {
	p, ok := planets()[variables["name"]]
	if !ok {
		return nil, mcp.ErrResourceNotFound
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "application/json", string(text))}}, nil
}

// startingWith returns the words that begin with the typed text, ignoring case.
func startingWith(typed string, words []string) *mcp.Completion {
	c := &mcp.Completion{Values: []string{}}
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), strings.ToLower(typed)) {
			c.Values = append(c.Values, w)
		}
	}
	return c
}
