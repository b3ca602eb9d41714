package up

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// dialTLS connects to the peer at an address with a port. It presents the certificate of this
// replica, if it has one, and checks that of the peer.
func (h *shared) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	config := &tls.Config{ServerName: h.peers.NameOf(addr), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if c := h.certificate.Load(); c != nil {
		own, err := c.Config(nil) // reads changed files
		if err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			switch {
			case len(own.Certificates) > 0:
				return &own.Certificates[0], nil
			case own.GetCertificate != nil:
				return own.GetCertificate(&tls.ClientHelloInfo{ServerName: config.ServerName})
			}
			return new(tls.Certificate), nil
		}
		config.InsecureSkipVerify = true // verifyPeer verifies
		config.VerifyConnection = func(s tls.ConnectionState) error { return verifyPeer(own, s, time.Now()) }
	}
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: peerDialTime}, Config: config}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to the replica at %s: %w", addr, err)
	}
	return conn, nil
}

// verifyPeer checks the certificate of a peer. It must be that of this replica, or valid for the
// name of the peer and signed by an authority of the system or of the clients.
func verifyPeer(own *tls.Config, s tls.ConnectionState, now time.Time) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("it has no certificate")
	}
	leaf := s.PeerCertificates[0]
	for _, c := range own.Certificates {
		if slices.Equal(c.Certificate[0], leaf.Raw) && now.Before(leaf.NotAfter) {
			return nil
		}
	}
	o := x509.VerifyOptions{DNSName: s.ServerName, Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := leaf.Verify(o) // the authorities of the system
	if err != nil && own.ClientCAs != nil {
		o.Roots = own.ClientCAs
		_, err = leaf.Verify(o)
	}
	return err
}
