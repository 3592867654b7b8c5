import main from './samples/main.go.txt?raw'
import program from './samples/Program.cs.txt?raw'
import java from './samples/Sign.java.txt?raw'
import js from './samples/sign.js.txt?raw'
import py from './samples/sign.py.txt?raw'

const [notMlDsa, notEd] = [/^([REP]S|EdDSA)/, /^[REP]S/]

/** Programs that print a token, for the values of `alg` that `signs` matches. */
export const samples = [
  { id: 'node', title: 'Node', file: 'sign.js · npm install jose', signs: /./, text: js },
  {
    id: 'python',
    title: 'Python',
    file: 'sign.py · pip install "pyjwt[crypto]"',
    signs: notMlDsa,
    text: py,
  },
  { id: 'java', title: 'Java', file: 'Sign.java · no library needed', signs: /./, text: java },
  {
    id: 'go',
    title: 'Go',
    file: 'main.go · go get github.com/golang-jwt/jwt/v5',
    signs: notMlDsa,
    text: main,
  },
  {
    id: 'net',
    title: '.NET',
    file: 'Program.cs · dotnet add package Microsoft.IdentityModel.JsonWebTokens',
    signs: notEd,
    text: program,
  },
]

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

/** The program with the values of a key. */
export function filledIn(text: string, key: { issuer: string; kid: string; alg: string }): string {
  const values = { javaParameters: '', ...namesFor(key.alg), ...key }
  return Object.entries(values).reduce(
    (all, [name, value]) => all.replaceAll(`{${name}}`, value),
    text,
  )
}
