package main

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

// addResources registers the resources and the resource template.
func addResources(s *mcp.Server) {
	s.AddText(mcp.Resource{
		URI: "test://static-text", Name: "Static text", Description: "A text that never changes.", MIMEType: "text/plain",
	}, "This is the content of the static text resource.")
	s.AddText(mcp.Resource{
		URI: "test://watched-resource", Name: "Watched resource", Description: "A resource to subscribe to.", MIMEType: "text/plain",
	}, "Watched resource content")
	s.AddResource(mcp.Resource{
		URI: "test://static-binary", Name: "Static binary", Description: "An image that never changes.", MIMEType: "image/png",
	}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.BlobContents(uri, "image/png", decoded(redPixel))}}, nil
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data", Name: "Template", Description: "Data for an id.", MIMEType: "application/json",
	}, func(_ context.Context, uri string, variables map[string]string) (*mcp.ReadResourceResult, error) {
		data := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, variables["id"], "Data for ID: "+variables["id"])
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "application/json", data)}}, nil
	})
}
