/** What to do about a weak RSA key; ends the `detail` of most faults. */
export const makeNewKey =
  'Make a new key: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out private.pem'
