// Package doctor has the command doctor, which finds faults of servers and hosts.
package doctor
