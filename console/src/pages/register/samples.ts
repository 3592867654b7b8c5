import go from './samples/main.go.txt?raw'
import net from './samples/Program.cs.txt?raw'
import java from './samples/Sign.java.txt?raw'
import js from './samples/sign.js.txt?raw'
import py from './samples/sign.py.txt?raw'

const [notMlDsa, notEd] = [/^([REP]S|EdDSA)/, /^[REP]S/]

/** For each language its program, the file and what to install, and the values of `alg` that it can sign with. */
const programs: Record<string, [text: string, file: string, signs: RegExp]> = {
  Node: [js, 'sign.js · npm install jose', /./],
  Python: [py, 'sign.py · pip install "pyjwt[crypto]"', notMlDsa],
  Java: [java, 'Sign.java · no library needed', /./],
  Go: [go, 'main.go · go get github.com/golang-jwt/jwt/v5', notMlDsa],
  '.NET': [net, 'Program.cs · dotnet add package Microsoft.IdentityModel.JsonWebTokens', notEd],
}

export function samplesFor(key: { issuer: string; kid: string; alg: string }) {
  const values = Object.entries({ javaParameters: '', ...namesFor(key.alg), ...key })
  const fill = (all: string, [name, value]: [string, string]) => all.replaceAll(`{${name}}`, value)
  return Object.entries(programs)
    .filter(([, [, , signs]]) => signs.test(key.alg))
    .map(([title, [text, file]]) => ({ id: title, title, file, text: values.reduce(fill, text) }))
}

/** Names of the kind of a key and its signatures. ECDSA has the form of JWS (RFC 7518 section 3.4). */
function namesFor(alg: string): Record<string, string> {
  const sha = `SHA${alg.slice(2)}`
  const rsa = { javaKind: 'RSA', goKind: 'RSA', netKind: 'RSA', netKey: 'Rsa' }
  if (alg.startsWith('RS')) return { ...rsa, javaSignature: `${sha}withRSA` }
  if (alg.startsWith('PS')) {
    const parameters = `"${sha.replace('A', 'A-')}", "MGF1", MGF1ParameterSpec.${sha}, ${Number(alg.slice(2)) / 8}, 1`
    const javaParameters = `\n    signature.setParameter(new PSSParameterSpec(${parameters}));`
    return { ...rsa, javaSignature: 'RSASSA-PSS', javaParameters }
  }
  if (alg.startsWith('ES')) {
    const javaSignature = `${sha}withECDSAinP1363Format`
    return { javaKind: 'EC', goKind: 'EC', netKind: 'ECDsa', netKey: 'ECDsa', javaSignature }
  }
  const name = alg === 'EdDSA' ? 'Ed25519' : alg
  return { javaKind: name, javaSignature: name, goKind: 'Ed' }
}
