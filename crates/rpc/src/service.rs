//! The methods of an endpoint, found by name.

use std::{collections::BTreeMap, sync::Arc};

use crate::fallback::Fallback;
use crate::method::Method;
use crate::method_info::MethodInfo;

/// The methods of one endpoint. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Service {
    namespaces: Arc<BTreeMap<&'static str, BTreeMap<&'static str, Arc<Method>>>>,
    listing: Arc<[Arc<Method>]>,
}

/// The outcome of looking up a method.
#[derive(Debug, Clone, Copy)]
pub enum Lookup<'a> {
    /// There is no such namespace.
    NoNamespace,
    /// The namespace has no such method.
    NoMethod,
    /// The method.
    Found(&'a Method),
}

impl Service {
    pub(crate) fn new(methods: Vec<Method>) -> Self {
        let mut service = Self::default();
        service.add(methods.into_iter().map(Arc::new));
        service
    }

    /// The methods so far are those of a service that does not have everything itself: a call that lacks something runs again
    /// once it is there ([`crate::RunAgainAfter`]), and `fallback` is asked if the result is an error or `null`.
    pub fn set_fallback(&self, fallback: &Arc<dyn Fallback>) {
        for method in self.listing.iter() {
            method.set_fallback(fallback);
        }
    }

    /// Numbers of the methods so far may have any form that says which number is meant, if they are given by position: the
    /// service is one for tools of development networks.
    pub fn take_any_number_form(&self) {
        for method in self.listing.iter() {
            method.take_any_number_form();
        }
    }

    /// Joins the methods of both into one endpoint.
    ///
    /// # Panics
    ///
    /// If a name is registered for two methods. Endpoints are assembled once, at the start.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        self.add(other.listing.iter().cloned());
        self
    }

    /// The methods that fit.
    #[must_use]
    pub fn only(&self, fits: impl Fn(&MethodInfo) -> bool) -> Self {
        let mut service = Self::default();
        service.add(self.listing.iter().filter(|method| fits(method.info())).cloned());
        service
    }

    /// Finds a method by any of its names. Names are case-sensitive.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Lookup<'_> {
        let Some(methods) = self.namespaces.get(namespace) else { return Lookup::NoNamespace };
        methods.get(name).map_or(Lookup::NoMethod, |method| Lookup::Found(method))
    }

    /// A method by any of its names, to keep.
    #[must_use]
    pub fn method(&self, namespace: &str, name: &str) -> Option<&Arc<Method>> {
        self.namespaces.get(namespace)?.get(name)
    }

    /// Every method in the order of registration, for documentation and tests.
    pub fn methods(&self) -> impl Iterator<Item = &MethodInfo> {
        self.listing.iter().map(|method| method.info())
    }

    /// Every method in the order of registration.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Method> {
        self.listing.iter().map(|method| &**method)
    }

    /// Whether there are methods, and all of them are for trusted callers.
    #[must_use]
    pub fn is_for_trusted_callers(&self) -> bool {
        !self.listing.is_empty() && self.methods().all(|method| method.trusted_callers_only)
    }

    fn add(&mut self, added: impl Iterator<Item = Arc<Method>>) {
        let mut namespaces = (*self.namespaces).clone();
        let mut listing = self.listing.to_vec();
        for method in added {
            let info = method.info();
            for namespace in [info.namespace].iter().chain(info.namespace_aliases.iter()) {
                let methods = namespaces.entry(namespace).or_default();
                for name in [info.name].iter().chain(&info.aliases) {
                    let earlier = methods.insert(name, Arc::clone(&method));
                    assert!(earlier.is_none(), "{namespace}.{name} is registered twice");
                }
            }
            listing.push(method);
        }
        self.namespaces = Arc::new(namespaces);
        self.listing = listing.into();
    }
}
