// Package doctor has the command doctor, which looks for faults of servers and hosts.
package doctor
