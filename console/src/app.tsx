import { lazy, Suspense } from 'react'
import { Route, Router, Switch } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { LoadingPage, NotFoundPage } from './components/states.tsx'
import { Frame } from './frame.tsx'
import { SessionGate, useSession } from './session/context.tsx'
import { SignInPage } from './session/sign-in.tsx'

const ProjectsPage = lazy(async () => ({
  default: (await import('./pages/projects/page.tsx')).ProjectsPage,
}))
const ProjectPage = lazy(async () => ({
  default: (await import('./pages/project/page.tsx')).ProjectPage,
}))
const RotatePage = lazy(async () => ({
  default: (await import('./pages/rotate/page.tsx')).RotatePage,
}))
const ApiKeysPage = lazy(async () => ({
  default: (await import('./pages/api-keys/page.tsx')).ApiKeysPage,
}))
const LedgerPage = lazy(async () => ({
  default: (await import('./pages/ledger.tsx')).LedgerPage,
}))

/** The console. Its routes are in the URL fragment, which is never sent to a server. */
export function App() {
  return (
    <SessionGate signInPage={(state) => <SignInPage {...state} />}>
      <Router hook={useHashLocation}>
        <Frame>
          <Suspense fallback={<LoadingPage />}>
            <Pages />
          </Suspense>
        </Frame>
      </Router>
    </SessionGate>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/">
        <Home />
      </Route>
      <Route path="/projects/:project/rotate/:kid">
        {({ project, kid }) => <RotatePage key={kid} project={project} oldKid={kid} />}
      </Route>
      <Route path="/projects/:project/:tab?">
        {({ project, tab }) => <ProjectPage key={project} project={project} tab={tab ?? 'keys'} />}
      </Route>
      <Route path="/api-keys">
        <ApiKeysPage />
      </Route>
      <Route path="/ledger">
        <LedgerPage />
      </Route>
      <Route>
        <NotFoundPage />
      </Route>
    </Switch>
  )
}

/** All projects, or the one that the API key is bound to. */
function Home() {
  const { self } = useSession()
  return self.projectId === undefined ? (
    <ProjectsPage />
  ) : (
    <ProjectPage project={self.projectId} tab="keys" />
  )
}
