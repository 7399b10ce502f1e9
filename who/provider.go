package who

// A Provider is where people log in by OpenID Connect.
type Provider struct{}
