package valkey

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// A place is the content of a URL.
type place struct {
	client rueidis.ClientOption
	prefix string
}

// parameters of URLs and what they set.
var parameters = map[string]func(p *place, tls *files, value string) error{
	"sentinel":         func(p *place, _ *files, v string) error { p.client.Sentinel.MasterSet = v; return nil },
	"sentinelUser":     func(p *place, _ *files, v string) error { p.client.Sentinel.Username = v; return nil },
	"sentinelPassword": func(p *place, _ *files, v string) error { p.client.Sentinel.Password = v; return nil },
	"cluster":          setCluster,
	"ca":               func(_ *place, f *files, v string) error { f.ca = v; return nil },
	"cert":             func(_ *place, f *files, v string) error { f.cert = v; return nil },
	"key":              func(_ *place, f *files, v string) error { f.key = v; return nil },
	"prefix":           setPrefix,
}

// files of TLS.
type files struct{ ca, cert, key string }

func setCluster(p *place, _ *files, value string) error {
	cluster, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("cluster is true or false")
	}
	p.client.ForceSingleClient = !cluster
	return nil
}

func setPrefix(p *place, _ *files, value string) error {
	if value == "" || len(value) > 64 || strings.ContainsAny(value, "{}/*") {
		return errors.New("prefix has 1 to 64 bytes without {, }, / and *")
	}
	p.prefix = value
	return nil
}

// parse reads a URL. Its errors contain nothing of the URL, as that may have a password.
func parse(text string) (place, error) {
	p := place{prefix: "junction", client: rueidis.ClientOption{ForceSingleClient: true}}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return place{}, errors.New("expected SCHEME://HOST")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@') + 1
	// Several hosts are more than net/url reads.
	u, err := url.Parse(scheme + "://" + rest[:at] + "host" + rest[end:])
	if err != nil {
		return place{}, errors.New("it cannot be read; escape special characters of the user and the password")
	}
	for host := range strings.SplitSeq(rest[at:end], ",") {
		address, err := addressOf(host)
		if err != nil {
			return place{}, err
		}
		p.client.InitAddress = append(p.client.InitAddress, address)
	}
	p.client.Username = u.User.Username()
	p.client.Password, _ = u.User.Password()
	if database := strings.Trim(u.Path, "/"); database != "" {
		if p.client.SelectDB, err = strconv.Atoi(database); err != nil || p.client.SelectDB < 0 {
			return place{}, errors.New("the path is the number of a database")
		}
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return place{}, errors.New("the parameters cannot be read; escape special characters")
	}
	var tls files
	for name, value := range values {
		set, known := parameters[name]
		if !known || len(value) != 1 {
			return place{}, fmt.Errorf("the parameter %.40q is unknown or there twice", name)
		}
		if err := set(&p, &tls, value[0]); err != nil {
			return place{}, err
		}
	}
	switch sentinel := p.client.Sentinel.MasterSet != ""; {
	case sentinel:
		p.client.ForceSingleClient = false
	case p.client.ForceSingleClient && len(p.client.InitAddress) > 1:
		return place{}, errors.New("several hosts need the parameter sentinel or cluster")
	case !p.client.ForceSingleClient && p.client.SelectDB != 0:
		return place{}, errors.New("a cluster has only the database 0")
	}
	if scheme == "valkeys" || scheme == "rediss" {
		return p, p.useTLS(tls)
	}
	if tls != (files{}) {
		return place{}, errors.New("ca, cert and key need the scheme valkeys or rediss")
	}
	return p, nil
}

// addressOf adds the standard port to a host that has none.
func addressOf(host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if inner, found := strings.CutPrefix(host, "["); err != nil && found && strings.HasSuffix(inner, "]") {
		name, port = strings.TrimSuffix(inner, "]"), "6379"
	} else if err != nil && !strings.Contains(host, ":") {
		name, port = host, "6379"
	}
	if n, err := strconv.Atoi(port); name == "" || strings.ContainsAny(name, " []@%") || err != nil || n < 1 || n > 65535 {
		return "", errors.New("a host is NAME or NAME:PORT")
	}
	return net.JoinHostPort(name, port), nil
}

// useTLS reads the files of TLS.
func (p *place) useTLS(f files) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %s has no certificate", f.ca)
		}
	}
	if f.cert != "" || f.key != "" {
		certificate, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return fmt.Errorf("cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	p.client.TLSConfig, p.client.Sentinel.TLSConfig = config, config
	return nil
}
