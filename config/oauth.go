package config

import (
	"errors"
	"fmt"
	"net/url"
)

// OAuth configures how to get access tokens for a server. It holds only settings that the server
// does not publish itself.
type OAuth struct {
	ClientID     string   `json:"clientId,omitempty" expand:"yes" shown:"1" identity:"1" doc:"the ID of the client that you registered with the authorization server; without it, Junction registers itself"`
	ClientSecret string   `json:"-" secret:"clientSecret" expand:"yes" identity:"1" doc:"the secret of clientId, as ${VARIABLE}"`
	KeyFile      string   `json:"privateKey,omitempty" file:"yes" shown:"4" identity:"1" doc:"a PEM file with the key of clientId, in place of a secret"` // absolute
	Scopes       []string `json:"scopes,omitempty" shown:"6" identity:"1" doc:"scopes to request in addition to those that the server names"`
	// Grant is "" for a user who logs in, "client_credentials" for a program that acts for itself,
	// and "jwt-bearer" for a program with a signed statement in AssertionFile. "enterprise" is for
	// a user whose permissions come from an organization's IdentityProvider; the user logs in
	// there, or AssertionFile has the ID token. "token-exchange" is for a gateway, which exchanges
	// the token of each of its users for a token of the server.
	Grant         string `json:"grant,omitempty" shown:"3" identity:"1" enum:"client_credentials,jwt-bearer,enterprise,token-exchange" expected:"client_credentials, jwt-bearer, enterprise or token-exchange, or none for a user who logs in" doc:"how Junction gets tokens without a user who logs in; token-exchange: junction up exchanges the token of each of its users for one of this server"`
	AssertionFile string `json:"assertion,omitempty" file:"yes" shown:"5" identity:"1" doc:"a file with the signed statement for jwt-bearer, or the user's ID token for enterprise, if junction login does not get it; the file is read each time"` // absolute
	CallbackPort  int    `json:"callbackPort,omitempty" min:"1" max:"65535" expected:"a port, 1 to 65535" doc:"the port that was registered: the browser comes back to http://127.0.0.1:PORT/callback"`
	// Hosts lists authorization servers that may have private addresses.
	Hosts []string `json:"hosts,omitempty" shown:"6" identity:"1" doc:"authorization servers that may have private addresses"`
	// Document is the URL of a metadata document that identifies the client to authorization
	// servers that read such documents.
	Document string `json:"clientMetadataUrl,omitempty" shown:"2" identity:"3" doc:"the https URL of a metadata document that identifies the client to authorization servers, in place of clientId"`
	// IdentityProvider is the issuer of an organization's identity provider. The next two fields
	// are the client's registration there.
	IdentityProvider     string `json:"identityProvider,omitempty" expand:"yes" shown:"7" identity:"2 at" doc:"for enterprise: the issuer of the organization's identity provider, at which junction login logs in for all servers that trust it"`
	IdentityClientID     string `json:"identityClientId,omitempty" expand:"yes" shown:"7" identity:"2" doc:"the client's ID at the identity provider"`
	IdentityClientSecret string `json:"-" secret:"identityClientSecret" expand:"yes" identity:"2" doc:"the client's secret there, as ${VARIABLE}"`
	// Issuer is the only authorization server that gets ClientID. With token-exchange it also gets
	// the tokens that another server issued to users.
	Issuer string `json:"issuer,omitempty" expand:"yes" shown:"7" identity:"4 for" doc:"the only authorization server that clientId is for; with token-exchange, it may receive users' tokens that another authorization server issued"`
	// Audience is the server's name at the authorization server, for token-exchange. It is empty if
	// the authorization server identifies the server by its URL.
	Audience string `json:"audience,omitempty" expand:"yes" shown:"7" identity:"4" doc:"for token-exchange: the authorization server's name for the server, if it uses names and not resources"`

	workspace string // folder of a project's definition, which must contain the files
}

// ReadFile reads KeyFile or AssertionFile, of up to 64 KiB. It reads the file again at each call.
// The text of the file goes to an authorization server. Therefore a file that a project's
// configuration names must be in the project's folder, after links are followed.
func (o *OAuth) ReadFile(path string) ([]byte, error) {
	return readNamed(o.workspace, path)
}

// The grants without a user's login at the server.
const (
	GrantClientCredentials = "client_credentials"
	GrantAssertion         = "jwt-bearer"
	GrantEnterprise        = "enterprise"
	GrantExchange          = "token-exchange"
)

// check returns an error if members contradict each other.
func (o *OAuth) check() error {
	switch {
	case o.ClientID != "" && o.Document != "":
		return errors.New("has both clientId and clientMetadataUrl; remove one")
	case o.Document != "" && !isDocument(o.Document):
		return fmt.Errorf("clientMetadataUrl: expected the https URL of a document, with a path, got %s", quote(o.Document))
	case o.ClientID == "" && (o.Grant != "" || o.ClientSecret != "" || o.KeyFile != ""):
		return errors.New("clientId is missing: the client's name at the authorization server")
	case o.ClientSecret != "" && o.KeyFile != "":
		return errors.New("has both clientSecret and privateKey; remove one")
	case (o.Grant == GrantClientCredentials || o.Grant == GrantExchange) && o.ClientSecret == "" && o.KeyFile == "":
		return fmt.Errorf("%s needs clientSecret, such as ${SECRET}, or privateKey, a file", o.Grant)
	case o.Audience != "" && o.Grant != GrantExchange:
		return errors.New("audience goes with the grant token-exchange")
	case o.Issuer != "" && o.ClientID == "":
		return errors.New("issuer goes with clientId: it is the authorization server at which the client is registered")
	case o.Grant == GrantAssertion && o.AssertionFile == "", o.AssertionFile != "" && o.Grant != GrantAssertion && o.Grant != GrantEnterprise:
		return errors.New("assertion, a file, and the grant jwt-bearer or enterprise go together")
	case (o.Grant == GrantEnterprise) != (o.IdentityProvider != ""), o.IdentityProvider == "" && o.IdentityClientID+o.IdentityClientSecret != "":
		return errors.New("identityProvider, the issuer of your organization's identity provider, and the grant enterprise go together")
	case o.Grant == GrantEnterprise && o.IdentityClientID == "":
		return errors.New("identityClientId is missing: the client's name at the identity provider")
	}
	return nil
}

// isDocument reports whether a text is the URL of a Client ID Metadata Document. An http URL is
// valid only for 127.0.0.1.
func isDocument(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || len(u.Path) < 2 || u.Fragment != "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && u.Hostname() == "127.0.0.1"
}
