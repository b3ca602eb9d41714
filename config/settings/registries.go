package settings

import (
	"fmt"
)

// A Registry is a source of server.json files.
type Registry struct {
	Name   string `json:"name,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9_.:-]{0,99}$" doc:"its name; by default the host of its URL, or the last part of the folder's path"`
	URL    string `json:"url,omitempty" doc:"its address, without the path of the registry API (version 0.1): https://registry.example.com"`
	Folder string `json:"folder,omitempty" doc:"a folder of server.json files, such as a git checkout, in place of a URL; a relative path is from this file's folder"`
	Token  string `json:"token,omitempty" example:"${secret:registry}" doc:"its token, by reference only: ${secret:NAME}, which junction secret set NAME keeps, ${VARIABLE} or ${file:PATH}. Junction sends it over https or to this machine only, and not to hosts of redirects"`
}

// TokenIn returns the place of the token; see [Reference].
func (r *Registry) TokenIn() (kind, name string) { return Reference(r.Token) }

// check returns an error for faults that the schema cannot express.
func (r *Registry) check(at int) error {
	switch {
	case (r.URL == "") == (r.Folder == ""):
		return fmt.Errorf("registries[%d]: expected a url or a folder", at)
	case r.Token != "" && r.Folder != "":
		return fmt.Errorf("registries[%d].token: a folder needs no token; remove it", at)
	case r.Token != "" && !referenceText().MatchString(r.Token):
		return fmt.Errorf("registries[%d].token: expected ${VARIABLE}, ${file:PATH}, or ${secret:NAME} for a secret of junction secret set NAME", at)
	}
	return nil
}
