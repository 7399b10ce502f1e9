// Package openid lets people log in at an OpenID Connect provider.
//
// It speaks the authorization code flow with PKCE. The signature of an ID token is checked
// by a library, against the keys that the provider publishes, and only with RS256 or ES256.
// What an [Attempt] holds stays in the browser that began it, so that an answer of the
// provider is good in that browser alone, also after a restart of the daemon.
package openid
